import type { StageId } from '@callboard/contract';
import { Button } from '@mantine/core';
import { count } from '../../../lib/format.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { useDiscardReplaced, useReplacedMessages, useSendReplaced } from '../api/use-replaced-messages.ts';
import type { StoredReplacedMessage } from '../model/replaced-messages.ts';
import css from './messages.module.css';

interface ReplacedMessagesProps {
  stageId: StageId;
  isWorking: boolean;
}

/** Messages that were replaced by another one. They are kept until a person sends or discards them. */
export function ReplacedMessages({ stageId, isWorking }: ReplacedMessagesProps) {
  const saved = useReplacedMessages(stageId);
  if (saved.length === 0) return null;
  return (
    <section aria-label="Replaced messages">
      <p className={css.aside}>Replaced: kept here, and not sent unless you say so.</p>
      <ul className={css.queue}>
        {saved.map((message) => (
          <ReplacedRow key={message.key} stageId={stageId} message={message} isWorking={isWorking} />
        ))}
      </ul>
    </section>
  );
}

function ReplacedRow({ stageId, message, isWorking }: ReplacedMessagesProps & { message: StoredReplacedMessage }) {
  const send = useSendReplaced(stageId);
  const discard = useDiscardReplaced(stageId);
  const busy = send.isPending || discard.isPending;
  const off = !useCanCommand() || busy;
  const { files, isCommand } = message;
  const extras = [
    isCommand ? 'to run as a command' : '',
    files.length > 0 ? `with ${count(files.length, 'file')}: ${files.map(({ name }) => name).join(', ')}` : '',
  ].filter((word) => word !== '');
  return (
    <li className={css.kept} aria-busy={busy}>
      <div className={css.queuedText}>
        {message.text}
        {extras.length > 0 && <span className={css.extras}>{extras.join(' · ')}</span>}
      </div>
      <div className={css.keptActions}>
        <Button
          size="compact-sm"
          variant="default"
          disabled={off}
          loading={send.isPending}
          onClick={() => send.mutate(message)}
        >
          {isWorking ? 'Queue it after all' : 'Send it after all'}
        </Button>
        <Button
          size="compact-sm"
          variant="subtle"
          color="gray"
          disabled={off}
          loading={discard.isPending}
          onClick={() => discard.mutate(message)}
        >
          Discard
        </Button>
      </div>
    </li>
  );
}
