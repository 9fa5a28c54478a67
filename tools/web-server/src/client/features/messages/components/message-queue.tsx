import type { QueuedMessage, StageId } from '@callboard/contract';
import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useLayoutEffect, useRef } from 'react';
import { boardQuery, queueQuery, stageOf } from '../../../data/queries.ts';
import { count } from '../../../lib/format.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { CommandText } from '../../../ui/command-words.tsx';
import { useReleaseQueue } from '../api/use-messages.ts';
import { delayedText, nextGoes } from '../model/composer-words.ts';
import css from './messages.module.css';
import { QueuedRow } from './queued-row.tsx';

interface MessageQueueProps {
  stageId: StageId;
  isWorking: boolean;
  /** Whether a check of the finished phase is due or runs. */
  isChecking: boolean;
  /** Whether the conversation was left to a terminal. */
  isInTerminal: boolean;
  isPaused: boolean;
}

/** The queued messages, in the order they will be sent. */
export function MessageQueue({ stageId, isWorking, isChecking, isInTerminal, isPaused }: MessageQueueProps) {
  const { data } = useQuery(queueQuery(stageId));
  const list = useNewestInSight(data?.queue.length ?? null);
  if (data === undefined || data.queue.length === 0) return null;
  return (
    <section aria-label="Queued messages">
      <p className={css.howMany}>
        {count(data.queue.length, 'message')} queued
        {isInTerminal && ': the next one is sent when the stage is taken back from the terminal'}
        {!isInTerminal && !isPaused && isWorking && !data.held && `: ${nextGoes(isChecking)}`}
        {!isInTerminal && isPaused && !data.held && ': sent when the stage is released'}
      </p>
      {data.held && !isInTerminal && <Held stageId={stageId} />}
      <Paused />
      <ol className={css.queue} ref={list}>
        {data.queue.map((message: QueuedMessage, place) => (
          <QueuedRow
            key={message.messageId}
            message={message}
            place={place}
            isLast={place === data.queue.length - 1}
            isWorking={isWorking}
            isPaused={isPaused}
          />
        ))}
      </ol>
    </section>
  );
}

/** Scrolls to a new message, unless the focus is in the list. `length` is null until it is known. */
function useNewestInSight(length: number | null) {
  const list = useRef<HTMLOListElement>(null);
  const before = useRef(length);
  useLayoutEffect(() => {
    const element = list.current;
    const hasGrown = before.current !== null && length !== null && length > before.current;
    before.current = length;
    if (!hasGrown || element === null || element.contains(document.activeElement)) return;
    element.lastElementChild?.scrollIntoView({ block: 'nearest' });
  }, [length]);
  return list;
}

/** Why nothing is delivered to any stage right now. */
function Paused() {
  const { data: paused = null } = useQuery({ ...boardQuery, select: (view) => view.paused });
  if (paused === null) return null;
  return (
    <div className={css.held}>
      <p>
        <CommandText text={paused} />
      </p>
    </div>
  );
}

function Held({ stageId }: { stageId: StageId }) {
  const release = useReleaseQueue(stageId);
  const canCommand = useCanCommand();
  const { data: session = null } = useQuery({
    ...boardQuery,
    select: (view) => stageOf(stageId)(view)?.session ?? null,
  });
  const isAlarmed = session?.alarm != null;
  const { why, action } = delayedText({
    isAlarmed,
    sinceAlarm: session?.heldSinceAlarm ?? false,
    resumes: session?.limitWait?.goesOnAt != null,
  });
  return (
    <div className={css.held}>
      <p>{why}</p>
      {action !== null && (
        <Button
          size="compact-sm"
          variant="default"
          disabled={!canCommand}
          loading={release.isPending}
          onClick={() => release.mutate(undefined)}
        >
          {action}
        </Button>
      )}
    </div>
  );
}
