import { isChecking, type StageView } from '@callboard/contract';
import { Button } from '@mantine/core';
import { IconPlayerPauseFilled } from '@tabler/icons-react';
import { useEffect, useEffectEvent, useState } from 'react';
import { isComposing } from '../../../lib/is-composing.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { useRecentlyShown, useTopLayer } from '../../../ui/dialog-layers.ts';
import { KeyHint } from '../../../ui/key-hint.tsx';
import { useInterrupt } from '../api/session-commands.ts';

/** Interrupts the turn. `pressed` is called for a click or key on the button itself, not for Escape. */
export function InterruptButton({ stage, pressed }: { stage: StageView; pressed: () => void }) {
  const interrupt = useInterrupt(stage.title);
  const off = !useCanCommand() || interrupt.isPending;
  const isCheck = stage.session !== null && isChecking(stage.session);
  const text = isCheck ? 'Stop check' : 'Interrupt';
  const does = isCheck ? 'Stop the check; you decide then' : 'Stop this turn; the session goes on';
  const isArmed = useEscapeTwice(() => {
    if (!off) interrupt.mutate(stage.id);
  });
  return (
    <Button
      variant="default"
      leftSection={<IconPlayerPauseFilled size={14} />}
      rightSection={isArmed ? null : <KeyHint>Esc Esc</KeyHint>}
      disabled={off}
      loading={interrupt.isPending}
      title={interrupt.isPending ? 'Claude has not confirmed it yet' : `${does} (Esc twice)`}
      onClick={() => {
        pressed();
        interrupt.mutate(stage.id);
      }}
    >
      {isArmed ? 'Esc again to interrupt' : text}
    </Button>
  );
}

const STAYS_MS = 1_000;

/**
 * Takes the place of the button that was just pressed. For a moment it is the only action, so that a second click does
 * not hit another one.
 */
export function InterruptPressed({ over }: { over: () => void }) {
  const isOver = useEffectEvent(over);
  useEffect(() => {
    const timer = setTimeout(() => isOver(), STAYS_MS);
    return () => clearTimeout(timer);
  }, []);
  return (
    <Button
      variant="default"
      leftSection={<IconPlayerPauseFilled size={14} />}
      rightSection={<KeyHint>Esc Esc</KeyHint>}
      disabled
    >
      Interrupt
    </Button>
  );
}

const WITHIN_MS = 1_200;

/** Calls `run` on the second Escape in a row. Returns true between the two. An Escape that closes something is ignored. */
function useEscapeTwice(run: () => void): boolean {
  const [isArmed, setArmed] = useState(false);
  // A dialog without a fade is gone by the time its closing key arrives here.
  const isCovered = useRecentlyShown(useTopLayer() !== 'page');
  const onEscape = useEffectEvent(() => {
    if (isCovered) return;
    if (isArmed) run();
    setArmed(!isArmed);
  });
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key !== 'Escape' || event.defaultPrevented || event.repeat || isComposing(event)) return;
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
