import { useEffect, useRef, useState } from 'react';
import { type NavigateOptions, useLocation, useNavigationType } from 'react-router';

/** The address's query as it is now; what a page was last drawn for may be a change behind. */
export const currentParams = (): URLSearchParams => new URLSearchParams(window.location.search);

const TYPED = { typed: true };
const isTyped = (state: unknown) => typeof state === 'object' && state !== null && 'typed' in state;

/**
 * A text field's own value, which the address follows: a page is drawn for an address later than the next key is
 * pressed, and a field that showed the address would lose that key. An address that came about in any other way (back,
 * a link, a button) is taken over.
 *
 * @param write has to navigate with the options that it is given
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
