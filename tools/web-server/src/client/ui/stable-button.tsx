import { Button, type ButtonProps } from '@mantine/core';
import { type ComponentProps, type KeyboardEvent, type MouseEvent, useEffect, useRef, useState } from 'react';

/** How long a button stands before a press counts: one that began before it was drawn was meant for something else. */
const STANDS_MS = 500;

/** Whether the component has been there for half a second. */
export function useStable(): boolean {
  const [isStable, setStable] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setStable(true), STANDS_MS);
    return () => clearTimeout(timer);
  }, []);
  return isStable;
}

/**
 * A button that decides something, and can be pressed once it has stood for half a second. A press that began before that does nothing,
 * nor does a key that was held down by then. It keeps the focus until then.
 */
export function StableButton({ onClick, disabled = false, ...props }: ButtonProps & ComponentProps<'button'>) {
  const isStable = useStable();
  const press = usePress(isStable);
  const waits = !isStable && !disabled ? { 'aria-disabled': true, 'data-disabled': true } : {};
  const click = (event: MouseEvent<HTMLButtonElement>) => {
    if (press.counts(event)) onClick?.(event);
  };
  return <Button {...props} {...waits} {...press.begins} disabled={disabled} onClick={click} />;
}

/** The keys that press a focused button. */
const PRESSES: ReadonlySet<string> = new Set(['Enter', ' ']);

/** Whether the press in hand began on the button while it was steady. */
function usePress(isStable: boolean) {
  const begun = useRef<{ pointer?: boolean; key?: boolean }>({});
  const begins = {
    // In the capture phase, as what surrounds the button may listen as well.
    onPointerDownCapture: () => {
      begun.current = { pointer: isStable };
    },
    onKeyDownCapture: ({ key, repeat }: KeyboardEvent) => {
      // A key that repeats went down earlier: elsewhere, unless that is known.
      if (PRESSES.has(key)) begun.current = { key: repeat ? (begun.current.key ?? false) : isStable };
    },
  };
  const counts = ({ detail }: MouseEvent): boolean => {
    const { pointer = false, key = isStable } = begun.current; // assistive software clicks without a key
    begun.current = {};
    return detail > 0 ? pointer : key;
  };
  return { begins, counts };
}
