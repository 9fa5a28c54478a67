import { useEffect, useEffectEvent, useState } from 'react';
import { useLately, useTopLayer } from '../../../ui/dialog-layers.ts';

const WITHIN_MS = 1_200;

/** Runs on the second Escape in a row; true between the two. An Escape that closes something does not count. */
export function useEscapeTwice(run: () => void): boolean {
  const [isArmed, setArmed] = useState(false);
  // A dialog that does not fade is gone by the time the key that closes it gets here.
  const isCovered = useLately(useTopLayer() !== 'page');
  const onEscape = useEffectEvent(() => {
    if (isCovered) return;
    if (isArmed) run();
    setArmed(!isArmed);
  });
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key !== 'Escape' || event.defaultPrevented || event.repeat || event.isComposing) return;
      if (document.querySelector('[role="dialog"], [role="menu"], [role="listbox"]') === null) onEscape();
    };
    document.addEventListener('keydown', onKeyDown);
    return () => document.removeEventListener('keydown', onKeyDown);
  }, []);
  useEffect(() => {
    if (!isArmed) return;
    const timer = setTimeout(() => setArmed(false), WITHIN_MS);
    return () => clearTimeout(timer);
  }, [isArmed]);
  return isArmed;
}
