import { Button, type ButtonProps } from '@mantine/core';
import { type ComponentProps, useEffect, useState } from 'react';

/** How long a button stands before a press counts: one that began before it was drawn was meant for something else. */
const STANDS_MS = 500;

/** Whether the component has been there for half a second. */
export function useSteady(): boolean {
  const [isSteady, setSteady] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setSteady(true), STANDS_MS);
    return () => clearTimeout(timer);
  }, []);
  return isSteady;
}

/** A button that decides something, and can be pressed once it has stood for half a second. It keeps the focus until then. */
export function SteadyButton({ onClick, disabled = false, ...props }: ButtonProps & ComponentProps<'button'>) {
  const isSteady = useSteady();
  const waits = !isSteady && !disabled ? { 'aria-disabled': true, 'data-disabled': true } : {};
  return <Button {...props} {...waits} disabled={disabled} onClick={isSteady ? onClick : undefined} />;
}
