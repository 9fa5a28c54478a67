import { isChecking as hasCheck, isActive, isPaused, type StageId } from '@callboard/contract';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { boardQuery, stageOf } from '../../../data/queries.ts';
import { Composer } from './composer.tsx';
import { MessageQueue } from './message-queue.tsx';
import css from './messages.module.css';
import { ReplacedMessages } from './replaced-messages.tsx';

/** Where a person writes to the stage's Claude, with the queued messages above. `chips`: the session's switches. */
export function MessageBox({ stageId, chips }: { stageId: StageId; chips?: ReactNode }) {
  const { data: state = null } = useQuery({
    ...boardQuery,
    select: (view) => stageOf(stageId)(view)?.session?.state ?? null,
  });
  const { data: isDone = false } = useQuery({
    ...boardQuery,
    select: (view) => (stageOf(stageId)(view)?.completedAt ?? null) !== null,
  });
  const { data: isAlarmed = false } = useQuery({
    ...boardQuery,
    select: (view) => (stageOf(stageId)(view)?.session?.alarm ?? null) !== null,
  });
  const { data: isInTerminal = false } = useQuery({
    ...boardQuery,
    select: (view) => (stageOf(stageId)(view)?.session?.terminal ?? null) !== null,
  });
  const { data: isStagePaused = false } = useQuery({
    ...boardQuery,
    select: (view) => {
      const stage = stageOf(stageId)(view);
      return stage !== undefined && stage.completedAt === null && isPaused(stage, view.holds);
    },
  });
  const { data: isChecking = false } = useQuery({
    ...boardQuery,
    select: (view) => {
      const session = stageOf(stageId)(view)?.session ?? null;
      return session !== null && hasCheck(session);
    },
  });
  const isWorking = state !== null && isActive(state);
  return (
    <section className={css.box} aria-label="Write to Claude">
      {state !== null && <ReplacedMessages stageId={stageId} isWorking={isWorking} />}
      {state !== null && (
        <MessageQueue
          stageId={stageId}
          isWorking={isWorking}
          isChecking={isChecking}
          isInTerminal={isInTerminal}
          isPaused={isStagePaused}
        />
      )}
      <Composer
        stageId={stageId}
        state={state}
        isDone={isDone}
        isAlarmed={isAlarmed}
        isInTerminal={isInTerminal}
        isPaused={isStagePaused}
        isChecking={isChecking}
        chips={chips}
      />
    </section>
  );
}
