import type { StageView } from '@callboard/contract';
import { Button } from '@mantine/core';
import { IconPlayerPauseFilled } from '@tabler/icons-react';
import { useEffect, useEffectEvent } from 'react';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { KeyHint } from '../../../ui/key-hint.tsx';
import { useInterrupt } from '../api/use-interrupt.ts';
import { useEscapeTwice } from './use-escape-twice.ts';

/** `pressed`: it was, by pointer or key on the button itself. */
export function InterruptButton({ stage, pressed }: { stage: StageView; pressed: () => void }) {
  const interrupt = useInterrupt(stage.title);
  const off = !useCanCommand() || interrupt.isPending;
  const isArmed = useEscapeTwice(() => {
    if (!off) interrupt.mutate(stage.id);
  });
  return (
    <Button
      variant="default"
      leftSection={<IconPlayerPauseFilled size={14} />}
      rightSection={<KeyHint>Esc Esc</KeyHint>}
      disabled={off}
      loading={interrupt.isPending}
      title={
        interrupt.isPending ? 'Claude has not confirmed it yet' : 'Stop this turn; the session goes on (Esc twice)'
      }
      onClick={() => {
        pressed();
        interrupt.mutate(stage.id);
      }}
    >
      {isArmed ? 'Esc again to interrupt' : 'Interrupt'}
    </Button>
  );
}

const STAYS_MS = 1_000;

/**
 * In the place of the button that was just pressed, and for a moment all that is there: what else can be done with the
 * stage must not come under a pointer that presses once more.
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
