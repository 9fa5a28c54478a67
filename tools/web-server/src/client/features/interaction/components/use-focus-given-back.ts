import { useEffect, useRef } from 'react';

/** Marks what shows a request over or beside the page: the overlay, and the panel. Fields in it are not the page's. */
export const FRONT = 'data-request-front';
export const FRONT_SELECTOR = `[${FRONT}]`;

/** When to look whether the focus was lost: what was over the page may lie over it for a moment. */
const CHECK_INTERVAL_MS = [0, 50, 200];

/** The key of whatever the overlay shows: it takes the focus itself, and keeps it from one request to the next. */
export const OVERLAY = 'overlay';

/** Gives the focus back to where it was in the page when the request that is shown goes. @param key null: none is shown */
export function useFocusGivenBack(key: string | null): void {
  const outside = useRef<HTMLElement | null>(null);
  const timers = useRef<ReturnType<typeof setTimeout>[]>([]);
  useEffect(() => {
    const onFocus = ({ target }: FocusEvent) => {
      if (target instanceof HTMLElement && target.closest(FRONT_SELECTOR) === null) outside.current = target;
    };
    document.addEventListener('focusin', onFocus);
    return () => document.removeEventListener('focusin', onFocus);
  }, []);
  useEffect(() => {
    if (key === null) return;
    if (key === OVERLAY) timers.current.forEach(clearTimeout); // it is back, and what is in it is not lost
    return () => {
      const { current } = outside;
      const giveBack = () => {
        const { activeElement } = document;
        const isLost =
          activeElement === document.body || activeElement?.closest(`${FRONT_SELECTOR}[role="dialog"]`) != null;
        if (isLost) current?.focus({ preventScroll: true });
      };
      timers.current = CHECK_INTERVAL_MS.map((ms) => setTimeout(giveBack, ms));
    };
  }, [key]);
  // After the effect above, whose end sets them: a page that is gone has no focus to give.
  useEffect(() => () => timers.current.forEach(clearTimeout), []);
}
