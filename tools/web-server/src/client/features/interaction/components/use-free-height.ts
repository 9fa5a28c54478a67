import { type RefObject, useLayoutEffect, useState } from 'react';
import { PLACE } from '../model/arming-store.ts';
import css from './request.module.css';

/** Marks the element whose height a form may fill: up to its `max-height`, or else as high as it is. */
export const ROOM = 'data-request-room';
const LEAST_PX = 120;

/**
 * Returns the height that a part of a form may have before the form has to scroll; null where nothing bounds the form. It
 * follows the window and everything else in the form.
 */
export function useFreeHeight(part: RefObject<HTMLElement | null>): number | null {
  const [free, setFree] = useState<number | null>(null);
  useLayoutEffect(() => {
    const element = part.current;
    const room = element?.closest(`[${ROOM}="true"]`);
    const scroll = element?.closest(`.${css.scroll}`);
    const place = element?.closest(`[${PLACE}]`);
    if (element === null || room == null || scroll == null || place == null) return;
    const measure = () => {
      const most = Number.parseFloat(getComputedStyle(room).maxHeight);
      const height = Number.isNaN(most) ? room.clientHeight : most;
      const head = place.clientHeight - scroll.clientHeight;
      const next = Math.max(LEAST_PX, Math.floor(height - head - contentHeight(scroll) + element.offsetHeight));
      setFree((old) => (old !== null && Math.abs(old - next) < 2 ? old : next));
    };
    measure();
    const observer = new ResizeObserver(measure);
    for (const one of [room, place, ...scroll.children]) observer.observe(one);
    window.addEventListener('resize', measure);
    return () => {
      observer.disconnect();
      window.removeEventListener('resize', measure);
    };
  }, [part]);
  return free;
}

/** The height of everything in a scrolling box, which may be higher or lower than the box. */
function contentHeight(scroll: Element): number {
  const { paddingTop, paddingBottom } = getComputedStyle(scroll);
  const padding = Number.parseFloat(paddingTop) + Number.parseFloat(paddingBottom);
  const [first, last] = [scroll.firstElementChild, scroll.lastElementChild];
  if (first === null || last === null) return padding;
  return last.getBoundingClientRect().bottom - first.getBoundingClientRect().top + padding;
}
