import type { KeyboardEvent } from 'react';
import { cardAt } from '../model/card-focus.ts';

/** The links of the cards below an element that can be seen. */
const cardsIn = (element: Element) =>
  [...element.querySelectorAll<HTMLElement>('a[data-card]')].filter((link) => link.checkVisibility());

/** Arrow keys lead from card to card, as long as none is lifted: then they are the drag's own. */
export function onCardKeys(event: KeyboardEvent<HTMLElement>): void {
  const { target, currentTarget: board } = event;
  const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey && !event.shiftKey;
  if (event.defaultPrevented || !isPlain || !(target instanceof HTMLElement) || target.dataset.card === undefined)
    return;
  if (board.querySelector('[data-dragging="true"]') !== null) return;
  const next = cardAt([...board.children].map(cardsIn), target, event.key);
  if (next === null) return;
  event.preventDefault();
  next.focus();
}
