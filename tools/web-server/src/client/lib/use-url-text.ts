import { useEffect, useRef, useState } from 'react';
import { type NavigateOptions, useLocation, useNavigationType } from 'react-router';

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
