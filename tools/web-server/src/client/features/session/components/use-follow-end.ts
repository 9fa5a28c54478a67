import { type RefObject, useEffect, useEffectEvent, useLayoutEffect, useRef } from 'react';

/** The attribute that marks a request's form in the list; its value is the request's id. */
export const ASKS = 'data-asks';

/** This close to the end counts as at the end. */
export const NEAR_END = 48;
/** The space between the list's upper edge and the form shown there. */
const ABOVE_FORM = 12;
/** Forms at most this far apart (the lines of their calls) are shown from the first one on. */
const BETWEEN_FORMS = 96;

interface FollowOptions {
  /** Whether it stays at its end as it grows. */
  isFollowing: boolean;
  setFollowing: (isFollowing: boolean) => void;
  hasRows: boolean;
  /** Whether a request's form may be in the list. */
  hasForms: boolean;
  /** The height of all rows. */
  size: number;
  /** The height of all rows as they were measured last: the box gets it with the next drawing. */
  measured: () => number;
  scrollToEnd: () => void;
  scrollToOffset: (offset: number) => void;
}

/**
 * Keeps the box at its end as it grows, until somebody scrolls up, and again once they are back at the end. A form that
 * waits there and does not fit is shown from its top, until there is activity in the box. What a person opens grows
 * downwards and moves nothing.
 */
export function useFollowEnd(box: RefObject<HTMLElement | null>, options: FollowOptions): { letGo: () => void } {
  const { isFollowing, setFollowing, hasRows, hasForms, size } = options;
  /** The form that is shown from its top. */
  const held = useRef<string | null>(null);
  const seen = useRef(new Set<string>());

  const follow = useEffectEvent(() => {
    const element = box.current;
    if (!isFollowing || !hasRows || element === null) return;
    const form = hasForms ? formToPause(element, held.current, seen.current) : null;
    held.current = form?.requestId ?? null;
    if (form === null) options.scrollToEnd();
    else options.scrollToOffset(form.top);
  });

  const isAtEnd = useEffectEvent((element: HTMLElement) => isNearEnd(element, options.measured()));

  const letGo = () => {
    if (held.current === null || box.current === null) return;
    held.current = null;
    for (const { requestId } of formsIn(box.current)) seen.current.add(requestId);
    setFollowing(isNearEnd(box.current));
  };
  const touched = useEffectEvent(letGo);

  const opened = useEffectEvent((event: Event) => {
    const element = box.current;
    if (element === null || !(event.target instanceof Element) || !event.target.closest('[aria-expanded]')) return;
    setFollowing(false);
    // After layout: a list that is still at its end keeps following it.
    requestAnimationFrame(() => requestAnimationFrame(() => isNearEnd(element) && setFollowing(true)));
  });

  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    let top = element.scrollTop;
    const onScroll = (event: Event) => {
      if (event.target !== element) return; // code that scrolls in its own box
      // A row that shrank moves the list up at once, and the box is drawn smaller later: nobody scrolled away from the end.
      const isNear = isAtEnd(element);
      // Growth below the reader is no scroll of theirs, and neither is the jump to the top of a form.
      if (held.current === null && (isNear || element.scrollTop < top)) setFollowing(isNear);
      top = element.scrollTop;
    };
    const observer = new ResizeObserver(() => follow());
    const touch = (event: Event) => {
      // The page focuses the box itself when it opens.
      if (event.type !== 'focusin' || event.target !== element) touched();
    };
    const open = (event: Event) => opened(event);
    observer.observe(element);
    // Before the list draws for the new place: reading the place afterwards would lay the page out twice.
    element.addEventListener('scroll', onScroll, { passive: true, capture: true });
    element.addEventListener('click', open, { capture: true });
    for (const type of TOUCHES) element.addEventListener(type, touch, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener('scroll', onScroll, { capture: true });
      element.removeEventListener('click', open, { capture: true });
      for (const type of TOUCHES) element.removeEventListener(type, touch);
    };
  }, [box, setFollowing]);
  // Not whenever it begins to follow: that comes from a person near the end, whose view only growth may move.
  // biome-ignore lint/correctness/useExhaustiveDependencies: whenever the size changes
  useLayoutEffect(() => follow(), [hasRows, size]);
  return { letGo };
}

/** The events by which a person shows activity in the box. */
const TOUCHES = ['wheel', 'touchstart', 'pointerdown', 'keydown', 'focusin'] as const;

const isNearEnd = ({ scrollHeight, scrollTop, clientHeight }: HTMLElement, measured = scrollHeight) =>
  Math.min(scrollHeight, measured) - scrollTop - clientHeight < NEAR_END;

interface Form {
  requestId: string;
  /** The scroll offset at which the form begins at the box's upper edge. */
  top: number;
  bottom: number;
}

function formsIn(element: HTMLElement): Form[] {
  const above = element.getBoundingClientRect().top - element.scrollTop;
  return [...element.querySelectorAll(`[${ASKS}]`)].map((form) => {
    const { top, bottom } = form.getBoundingClientRect();
    return {
      requestId: form.getAttribute(ASKS) ?? '',
      top: Math.max(0, top - above - ABOVE_FORM),
      bottom: bottom - above,
    };
  });
}

/** The first of the forms at the end, if it begins above the visible part there. A form that is held stays. */
function formToPause(element: HTMLElement, held: string | null, seen: ReadonlySet<string>): Form | null {
  const end = element.scrollHeight - element.clientHeight;
  const unseen = formsIn(element).filter(({ requestId }) => !seen.has(requestId));
  const same = unseen.find(({ requestId }) => requestId === held);
  if (same !== undefined) return same;
  let first: Form | null = null;
  for (const form of unseen.reverse()) {
    const from = first?.top ?? end;
    if (form.top < from && form.bottom + BETWEEN_FORMS >= from) first = form;
  }
  return first;
}
