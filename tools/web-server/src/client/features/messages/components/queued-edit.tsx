import type { QueuedMessage } from '@callboard/contract';
import { Button, Textarea } from '@mantine/core';
import { useLayoutEffect, useRef, useState } from 'react';
import { isComposing } from '../../../lib/is-composing.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { ErrorNote } from '../../../ui/error-note.tsx';
import { useEditQueued } from '../api/use-messages.ts';
import css from './messages.module.css';

/** A queued message while it is edited. */
export function QueuedEdit({ message, close }: { message: QueuedMessage; close: () => void }) {
  const row = useRef<HTMLLIElement>(null);
  const [text, setText] = useState(message.text);
  const edit = useEditQueued(message.stageId);
  const canCommand = useCanCommand();
  const isOff = !canCommand || text.trim() === '' || edit.isPending;
  const save = () =>
    !isOff && edit.mutate({ messageId: message.messageId, patch: { message: text } }, { onSuccess: close });
  useLayoutEffect(() => {
    row.current?.scrollIntoView({ block: 'nearest' });
  }, []);
  return (
    <li className={css.queued} ref={row}>
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
            } else if (event.key === 'Enter' && !event.shiftKey && !isComposing(event.nativeEvent)) {
              event.preventDefault();
              save();
            }
          }}
        />
        {edit.isError && <ErrorNote error={edit.error} />}
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
