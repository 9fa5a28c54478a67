import type { Decision } from '@callboard/contract';
import { Button } from '@mantine/core';
import { useId } from 'react';
import { useCanAnswer } from '../../../stream/stream-context.tsx';
import { ErrorNote } from '../../../ui/error-note.tsx';
import { useSettle, type Way } from '../api/use-settle.ts';
import css from './unsettled.module.css';

/** Retry and Dismiss, each with an explanation. */
export function SettleActions({ decision }: { decision: Decision }) {
  const settle = useSettle(decision);
  const explained = useId();
  const sent = settle.isPending || settle.isSuccess;
  const off = !useCanAnswer() || sent;
  const button = (way: Way, label: string) => (
    <Button
      size="compact-md"
      variant={way === 'retry' ? 'filled' : 'default'}
      aria-describedby={explained}
      disabled={off}
      loading={sent && settle.variables === way}
      onClick={() => settle.mutate(way)}
    >
      {label}
    </Button>
  );
  return (
    <>
      <p className={css.known} id={explained}>
        Retry tells Claude in a message what was decided, and to check before doing it again; a tool then asks again.
        Dismiss sends nothing and takes this note away.
      </p>
      {settle.isError && <ErrorNote error={settle.error} />}
      <div className={css.buttons}>
        {button('dismiss', 'Dismiss')}
        {button('retry', 'Retry')}
      </div>
    </>
  );
}
