import { useEffect, useRef, useState } from 'react';
import { type NavigateOptions, useLocation, useNavigationType } from 'react-router';
import { create } from 'zustand';

const TICK_MS = 5_000;

/** The page's clock: one for all relative times, so that they change together. */
const useClock = create(() => ({ now: Date.now() }));

/** Starts the clock. Returns how to stop it. */
export function startClock(): () => void {
  const timer = setInterval(() => useClock.setState({ now: Date.now() }), TICK_MS);
  return () => clearInterval(timer);
}

/** The current time in milliseconds, updated every five seconds. */
export const useNow = (): number => useClock(({ now }) => now);

/** The URL's current query. The one a page was last rendered for may be a change behind. */
export const currentParams = (): URLSearchParams => new URLSearchParams(window.location.search);

const TYPED = { typed: true };
const isTyped = (state: unknown) => typeof state === 'object' && state !== null && 'typed' in state;

/**
 * A text field's value that is mirrored in the URL. The field keeps a value of its own: a page is rendered for a URL
 * later than the next key is pressed, so a field bound to the URL would lose keys. A URL that changes in another way
 * (back, a link, a button) updates the field.
 *
 * @param write has to navigate with the options it is given
 */
export function useUrlText(
  inAddress: string,
  write: (text: string, options: NavigateOptions) => void,
): [string, (text: string) => void] {
  const [text, setText] = useState(inAddress);
  const { key, state } = useLocation();
  const isOwn = useNavigationType() === 'REPLACE' && isTyped(state);
  const last = useRef(key);
  useEffect(() => {
    if (last.current === key) return;
    last.current = key;
    if (!isOwn) setText(inAddress);
  }, [key, isOwn, inAddress]);
  const type = (typed: string) => {
    setText(typed);
    write(typed, { replace: true, state: TYPED });
  };
  return [text, type];
}
