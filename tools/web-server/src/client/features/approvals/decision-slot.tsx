import { Button, type ButtonProps } from '@mantine/core';
import {
  createContext,
  type MouseEvent,
  type ReactNode,
  type RefObject,
  use,
  useEffect,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from 'react';
import { useShortcuts } from '../../ui/shortcuts.tsx';
import {
  armedSelector,
  DECIDES,
  isTap,
  mayClickDecide,
  mayKeyDecide,
  maySwipeDecide,
  notify,
  PLACE,
  readySelector,
  useArming,
  useFieldText,
} from './arming.ts';
import css from './request.module.css';

interface DecisionSlotProps {
  /** The request or stage to decide on. If it changes, render a new place (`key`). */
  about: string;
  layer?: 'page' | 'overlay';
  /** False if only a press decides. */
  takesKeys?: boolean;
  /** The element that says what is asked, if it is outside of the place. */
  describedBy?: string | undefined;
  /** False if it is armed only when a person turns to it, however long it is there alone. */
  armsAlone?: boolean;
  /** Whether its own `max-height` bounds what is in it. */
  isRoom?: boolean;
  className?: string | undefined;
  children: ReactNode;
}

/** The attribute with a place's layer. */
const LAYER = 'data-request-layer';
/** The attribute with the id of the element outside that says what is asked. */
const SAID_BY = 'data-request-said-by';
const Location = createContext('');

/** Holds buttons that decide something. The rules in `arming.ts` say when they can be pressed and when their keys work. */
export function DecisionSlot(props: DecisionSlotProps) {
  const { about, layer = 'page', takesKeys = true, armsAlone = true, describedBy, isRoom, className, children } = props;
  const id = useId();
  const root = useRef<HTMLDivElement>(null);
  useDrawn({ id, key: about, layer, takesKeys, armsAlone }, root);
  return (
    <Location value={id}>
      <div
        ref={root}
        className={className}
        {...{ [PLACE]: id, [LAYER]: layer, [SAID_BY]: describedBy, [ROOM]: isRoom }}
      >
        {children}
      </div>
    </Location>
  );
}

type Drawn = { id: string; key: string; layer: 'page' | 'overlay'; takesKeys: boolean; armsAlone: boolean };

/** Reports when the place is painted and not only in the document, as nobody can look at it before. */
function useDrawn({ id, key, layer, takesKeys, armsAlone }: Drawn, root: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    let stopWatching = () => {};
    const onPainted = () => {
      notify({ type: 'drawn', id, key, layer, takesKeys, armsAlone });
      if (takesKeys) stopWatching = watchView(id, root.current);
    };
    let frame = requestAnimationFrame(() => {
      frame = requestAnimationFrame(onPainted);
    });
    return () => {
      cancelAnimationFrame(frame);
      stopWatching();
      notify({ type: 'gone', id });
    };
  }, [id, key, layer, takesKeys, armsAlone, root]);
}

const MAX_OF_IT = 0.6;

/** Reports whether the place's first button is on the screen. */
function watchView(id: string, root: HTMLElement | null): () => void {
  const button = root?.querySelector(`[${DECIDES}]`);
  if (button == null) return () => {};
  const onChange = ([entry]: readonly IntersectionObserverEntry[]) =>
    notify({ type: 'view', id, isIn: (entry?.intersectionRatio ?? 0) >= MAX_OF_IT });
  const observer = new IntersectionObserver(onChange, { threshold: MAX_OF_IT });
  observer.observe(button);
  return () => observer.disconnect();
}

/** Returns the verdicts on the surrounding place. */
export function useDecisionGuard() {
  const id = use(Location);
  return {
    /** Whether its buttons were drawn long enough to be pressed. */
    isReady: useArming(readySelector(id)),
    mayKeyDecide: (event: KeyboardEvent) => mayKeyDecide(id, event) && !isForOther(event, id),
    mayClickDecide: (event: MouseEvent) => mayClickDecide(id, event.nativeEvent),
    maySwipeDecide: (event: Event) => maySwipeDecide(id, event),
  };
}

/** Whether the place's keys work now, so that its buttons show them. */
export function useKeysWork(): boolean {
  const isArmed = useArming(armedSelector(use(Location)));
  const hasText = useFieldText();
  return isArmed && !hasText;
}

/** Whether the key is not for this place: the place is out of view, a menu or a dialog is open over it, or the key goes to another form. */
function isForOther({ target }: KeyboardEvent, id: string): boolean {
  const place = document.querySelector(`[${PLACE}="${id}"]`);
  if (place === null || !isInView(place)) return true;
  const inDialog = place.closest('[role="dialog"]');
  if (document.querySelector('[role="menu"], [role="listbox"]') !== null) return true;
  if (inDialog === null && document.querySelector('[role="dialog"]') !== null) return true;
  const form = target instanceof Element ? target.closest('form') : null;
  return form !== null && !place.contains(form);
}

/** Whether the place's title and buttons are on the screen and uncovered. */
function isInView(place: Element): boolean {
  const saidBy = place.getAttribute(SAID_BY);
  const title = saidBy === null ? place.querySelector('h2') : document.getElementById(saidBy);
  // A row of a list is one thing: its title and its buttons stand side by side in it.
  const whole = saidBy === null ? place : (place.closest('li') ?? place);
  return [title, place.querySelector(`[${DECIDES}]`)].every((part) => {
    if (part === null) return false;
    const { left, top, width, height } = part.getBoundingClientRect();
    const shown = document.elementFromPoint(left + Math.min(width / 2, 20), top + height / 2);
    return shown !== null && whole.contains(shown);
  });
}

/** How a button was pressed. */
export interface Press {
  /** By a tap on a touch screen: the answer is held back for a moment, and can be taken back. */
  isTap: boolean;
}

interface DecisionButtonProps extends ButtonProps {
  act: (press: Press) => void;
  type?: 'button' | 'submit';
  'aria-describedby'?: string | undefined;
  'aria-keyshortcuts'?: string | undefined;
}

/**
 * A button that decides. Until it has been drawn long enough, it is `aria-disabled`, so that it keeps the focus, and a
 * press on it does nothing.
 */
export function DecisionButton({ act, disabled = false, type = 'button', ...props }: DecisionButtonProps) {
  const { isReady, mayClickDecide: mayClick } = useDecisionGuard();
  const onClick = (event: MouseEvent) => {
    if (isReady && mayClick(event)) act({ isTap: isTap(event) });
    else event.preventDefault();
  };
  const waits = !isReady && !disabled ? { 'aria-disabled': true, 'data-disabled': true } : {};
  return <Button {...props} {...waits} {...{ [DECIDES]: '' }} type={type} disabled={disabled} onClick={onClick} />;
}

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

interface KeyAction {
  act: () => void;
  isOff: boolean;
}

/** A allows and D denies while the form is armed. */
export function useVerdictKeys(yes: KeyAction, no: KeyAction): void {
  const byKey = useArmedKey();
  useShortcuts({ a: byKey(yes), d: byKey(no) });
}

/** S sets the request aside while its form is armed. */
export function useLaterKey(act: () => void): void {
  const byKey = useArmedKey();
  useShortcuts({ s: byKey({ act, isOff: false }) });
}

/** Returns how to make a key act only while the surrounding form is armed. */
function useArmedKey() {
  const { mayKeyDecide } = useDecisionGuard();
  return ({ act, isOff }: KeyAction) =>
    (event: KeyboardEvent) => {
      if (isOff || !mayKeyDecide(event)) return false;
      act();
      return true;
    };
}
