import type { QueuedMessage, StageId } from '@callboard/contract';
import { ActionIcon, Button, Textarea } from '@mantine/core';
import { IconPencil, IconX } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { errorText } from '../../../lib/api.ts';
import { useCanCommand } from '../../../live/live-context.tsx';
import { queueQuery } from '../../../live/queries.ts';
import { FailureNote } from '../../../ui/note.tsx';
import { useEditQueued, useRemoveQueued } from '../api/use-messages.ts';
import css from './messages.module.css';

/** What waits to be sent, in the order in which it will be. */
export function MessageQueue({ stageId }: { stageId: StageId }) {
  const { data } = useQuery(queueQuery(stageId));
  if (data === undefined || data.queue.length === 0) return null;
  return (
    <section aria-label="Queued messages">
      {data.held && (
        <p className={css.hint}>
          Held, since the last turn did not end well: these messages are kept and not sent. A new message goes at once.
        </p>
      )}
      <ol className={css.queue}>
        {data.queue.map((message) => (
          <QueuedRow key={message.messageId} message={message} />
        ))}
      </ol>
    </section>
  );
}

function QueuedRow({ message }: { message: QueuedMessage }) {
  const [editing, setEditing] = useState(false);
  const remove = useRemoveQueued(message.stageId);
  const canCommand = useCanCommand();
  if (editing) return <QueuedEdit message={message} close={() => setEditing(false)} />;
  const off = !canCommand || remove.isPending || remove.isSuccess;
  return (
    <li className={css.queued}>
      <div className={css.queuedText}>{message.text}</div>
      <ActionIcon
        variant="subtle"
        color="gray"
        aria-label="Edit queued message"
        disabled={off}
        onClick={() => setEditing(true)}
      >
        <IconPencil size={16} />
      </ActionIcon>
      <ActionIcon
        variant="subtle"
        color="gray"
        aria-label="Remove queued message"
        disabled={off}
        loading={remove.isPending}
        onClick={() => remove.mutate(message.messageId)}
      >
        <IconX size={16} />
      </ActionIcon>
    </li>
  );
}

function QueuedEdit({ message, close }: { message: QueuedMessage; close: () => void }) {
  const [text, setText] = useState(message.text);
  const edit = useEditQueued(message.stageId, close);
  const canCommand = useCanCommand();
  return (
    <li className={css.queued}>
      <div className={css.edit}>
        <Textarea
          aria-label="Queued message"
          autosize
          maxRows={8}
          value={text}
          data-autofocus
          onChange={(event) => setText(event.currentTarget.value)}
        />
        {edit.isError && <FailureNote>{errorText(edit.error)}</FailureNote>}
        <div className={css.editActions}>
          <Button
            size="compact-sm"
            disabled={!canCommand || text.trim() === ''}
            loading={edit.isPending}
            onClick={() => edit.mutate({ messageId: message.messageId, message: text })}
          >
            Save
          </Button>
          <Button size="compact-sm" variant="default" onClick={close}>
            Cancel
          </Button>
        </div>
      </div>
    </li>
  );
}
