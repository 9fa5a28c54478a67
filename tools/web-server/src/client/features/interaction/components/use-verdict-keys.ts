import { useShortcuts } from '../../../ui/shortcuts.ts';
import { useDecision } from './decision-place.tsx';

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
  const { mayKeyDecide } = useDecision();
  return ({ act, isOff }: KeyAction) =>
    (event: KeyboardEvent) => {
      if (isOff || !mayKeyDecide(event)) return false;
      act();
      return true;
    };
}
