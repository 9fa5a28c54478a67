import type { QueuedMessage } from '@callboard/contract';
import { ActionIcon, Button, Menu, Textarea } from '@mantine/core';
import { IconArrowDown, IconArrowUp, IconDots, IconPencil, IconPlayerTrackNext, IconX } from '@tabler/icons-react';
import { type ReactNode, useState } from 'react';
import { errorText } from '../../../lib/api.ts';
import { count } from '../../../lib/time.ts';
import { useCanCommand } from '../../../live/live-context.tsx';
import { FailureNote } from '../../../ui/note.tsx';
import { useEditQueued, useMoveQueued, useRemoveQueued, useSendQueued } from '../api/use-messages.ts';
import css from './messages.module.css';

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
  const off = !canCommand || busy;
  const moveTo = (to: number) => move.mutate({ messageId, patch: { place: to } });
  return (
    <li className={css.queued} aria-busy={busy}>
      <div className={css.queuedText}>
        {message.text}
        <Extras message={message} />
      </div>
      <div className={css.rowActions}>
        <RowButton label="Move up" off={off || place === 0} run={() => moveTo(place - 1)}>
          <IconArrowUp size={16} />
        </RowButton>
        <RowButton label="Move down" off={off || isLast} run={() => moveTo(place + 1)}>
          <IconArrowDown size={16} />
        </RowButton>
        <RowButton label="Edit queued message" off={off} run={() => setEditing(true)}>
          <IconPencil size={16} />
        </RowButton>
        <Menu>
          <Menu.Target>
            <ActionIcon
              variant="subtle"
              color="gray"
              aria-label="Send queued message"
              title="Send"
              disabled={off}
              loading={send.isPending}
            >
              {isWorking ? <IconDots size={16} /> : <IconPlayerTrackNext size={16} />}
            </ActionIcon>
          </Menu.Target>
          <Menu.Dropdown>
            <Menu.Item onClick={() => send.mutate({ messageId, mode: 'now' })}>
              Send now{isWorking && ', interrupting Claude'}
            </Menu.Item>
            {isWorking && (
              <Menu.Item onClick={() => send.mutate({ messageId, mode: 'steer' })}>
                Steer: into the running turn
              </Menu.Item>
            )}
          </Menu.Dropdown>
        </Menu>
        <RowButton label="Remove queued message" off={off} run={() => remove.mutate(messageId)}>
          <IconX size={16} />
        </RowButton>
      </div>
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

function RowButton(props: { label: string; off: boolean; run: () => void; children: ReactNode }) {
  return (
    <ActionIcon
      variant="subtle"
      color="gray"
      aria-label={props.label}
      title={props.label}
      disabled={props.off}
      onClick={props.run}
    >
      {props.children}
    </ActionIcon>
  );
}

function QueuedEdit({ message, close }: { message: QueuedMessage; close: () => void }) {
  const [text, setText] = useState(message.text);
  const edit = useEditQueued(message.stageId);
  const canCommand = useCanCommand();
  const isOff = !canCommand || text.trim() === '' || edit.isPending;
  const save = () =>
    !isOff && edit.mutate({ messageId: message.messageId, patch: { message: text } }, { onSuccess: close });
  return (
    <li className={css.queued}>
      <div className={css.edit}>
        <Textarea
          aria-label="Queued message"
          autosize
          maxRows={8}
          value={text}
          autoFocus
          onChange={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === 'Escape') {
              event.preventDefault();
              close();
            } else if (event.key === 'Enter' && !event.shiftKey && !event.nativeEvent.isComposing) {
              event.preventDefault();
              save();
            }
          }}
        />
        {edit.isError && <FailureNote>{errorText(edit.error)}</FailureNote>}
        <div className={css.editActions}>
          <Button size="compact-sm" disabled={isOff} loading={edit.isPending} onClick={save}>
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
