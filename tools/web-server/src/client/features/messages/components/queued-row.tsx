import type { QueuedMessage } from '@callboard/contract';
import { Button } from '@mantine/core';
import { type ReactNode, useLayoutEffect, useRef, useState } from 'react';
import { count } from '../../../lib/format.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { useMoveQueued, useRemoveQueued, useSendQueued } from '../api/use-messages.ts';
import css from './messages.module.css';
import { QueuedActions } from './queued-actions.tsx';
import { QueuedEdit } from './queued-edit.tsx';

interface QueuedRowProps {
  message: QueuedMessage;
  /** Counts from 0, the next message to be sent. */
  place: number;
  isLast: boolean;
  /** Whether a turn is running, into which a message can be steered. */
  isWorking: boolean;
  /** Whether it waits for the release of the stage. */
  isPaused: boolean;
}

/** A queued message with its actions. */
export function QueuedRow({ message, place, isLast, isWorking, isPaused }: QueuedRowProps) {
  const { stageId, messageId } = message;
  const [editing, setEditing] = useState(false);
  const remove = useRemoveQueued(stageId);
  const move = useMoveQueued(stageId);
  const send = useSendQueued(stageId);
  const canCommand = useCanCommand();
  if (editing) return <QueuedEdit message={message} close={() => setEditing(false)} />;
  const busy = remove.isPending || move.isPending || send.isPending;
  return (
    <li className={css.queued} aria-busy={busy}>
      <QueuedText text={message.text}>
        <Extras message={message} />
      </QueuedText>
      <QueuedActions
        off={!canCommand || busy}
        isFirst={place === 0}
        isLast={isLast}
        isWorking={isWorking}
        isPaused={isPaused}
        isSending={send.isPending}
        move={(by) => move.mutate({ messageId, patch: { place: place + by } })}
        edit={() => setEditing(true)}
        send={(mode) => send.mutate({ messageId, mode })}
        remove={() => remove.mutate(messageId)}
      />
    </li>
  );
}

function Extras({ message: { attachments, isCommand, by } }: { message: QueuedMessage }) {
  const text = [
    isCommand ? 'run as a command' : '',
    attachments.length > 0 ? `with ${count(attachments.length, 'file')}` : '',
    by === null ? '' : `by ${by}`,
  ].filter((word) => word !== '');
  return text.length === 0 ? null : <span className={css.extras}>{text.join(' · ')}</span>;
}

/** The first lines of a message, and all of it on demand. */
function QueuedText({ text, children }: { text: string; children: ReactNode }) {
  const box = useRef<HTMLDivElement>(null);
  const [isLong, setLong] = useState(false);
  const [isWhole, setWhole] = useState(false);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null || isWhole) return;
    const measure = () => setLong(element.scrollHeight > element.clientHeight + 2);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, [isWhole]);
  return (
    <div className={css.queuedText}>
      <div ref={box} className={isWhole ? undefined : css.firstLines}>
        {text}
      </div>
      {isLong && (
        <Button size="compact-xs" variant="subtle" ml={-8} aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
          {isWhole ? 'Show less' : 'Show all'}
        </Button>
      )}
      {children}
    </div>
  );
}
