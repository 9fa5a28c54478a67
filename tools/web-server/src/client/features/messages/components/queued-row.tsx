import type { QueuedMessage } from '@callboard/contract';
import { useState } from 'react';
import { count } from '../../../lib/format.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { useMoveQueued, useRemoveQueued, useSendQueued } from '../api/use-messages.ts';
import css from './messages.module.css';
import { QueuedActions } from './queued-actions.tsx';
import { QueuedEdit } from './queued-edit.tsx';
import { QueuedText } from './queued-text.tsx';

interface QueuedRowProps {
  message: QueuedMessage;
  /** From 0, the next to go. */
  place: number;
  isLast: boolean;
  /** Whether a turn runs that a message can be steered into. */
  isWorking: boolean;
}

/** A message that waits, and all that can be done with it. */
export function QueuedRow({ message, place, isLast, isWorking }: QueuedRowProps) {
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
  const words = [
    isCommand ? 'run as a command' : '',
    attachments.length > 0 ? `with ${count(attachments.length, 'file')}` : '',
    by === null ? '' : `by ${by}`,
  ].filter((word) => word !== '');
  return words.length === 0 ? null : <span className={css.extras}>{words.join(' · ')}</span>;
}
