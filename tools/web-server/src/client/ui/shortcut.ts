import { useEffect, useLayoutEffect, useRef } from 'react';
import { useLetterKeys } from './shortcut-setting.ts';

/** Whether what is typed there is text. */
export function isTextField(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement)
    return true;
  return (
    target instanceof HTMLInputElement && !['button', 'checkbox', 'radio', 'submit', 'range'].includes(target.type)
  );
}

const isPlain = (event: KeyboardEvent) => !event.ctrlKey && !event.metaKey && !event.altKey && !event.repeat;

/** Single letters as shortcuts on the whole page, where no text is typed. A handler that returns false leaves the key be. */
export function useShortcuts(handlers: Readonly<Record<string, (event: KeyboardEvent) => boolean | undefined>>): void {
  const latest = useRef(handlers);
  // Before it is painted: a key may be pressed as soon as its button is seen.
  useLayoutEffect(() => {
    latest.current = handlers;
  });
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (!useLetterKeys.getState().on) return;
      const handler = latest.current[event.key.toLowerCase()];
      if (handler === undefined || event.defaultPrevented || !isPlain(event) || isTextField(event.target)) return;
      if (handler(event) !== false) event.preventDefault();
    };
    document.addEventListener('keydown', onKeyDown);
    return () => document.removeEventListener('keydown', onKeyDown);
  }, []);
}
