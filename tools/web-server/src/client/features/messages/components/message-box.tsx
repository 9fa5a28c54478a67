import type { SessionSummary, StageId } from '@callboard/contract';
import { Button, Textarea } from '@mantine/core';
import { IconSend2 } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import type { KeyboardEvent } from 'react';
import { errorText } from '../../../lib/api.ts';
import { useCanCommand } from '../../../live/live-context.tsx';
import { boardQuery, stageOf } from '../../../live/queries.ts';
import { FailureNote } from '../../../ui/note.tsx';
import { useSendMessage } from '../api/use-messages.ts';
import { useMessageDrafts } from '../model/drafts.ts';
import { MessageQueue } from './message-queue.tsx';
import css from './messages.module.css';

/** Where a person writes to the stage's Claude. The text stays until the server has it. */
export function MessageBox({ stageId }: { stageId: StageId }) {
  const { data: session } = useQuery({ ...boardQuery, select: (view) => stageOf(stageId)(view)?.session ?? null });
  const text = useMessageDrafts((drafts) => drafts.byStage[stageId] ?? '');
  const { set, sent } = useMessageDrafts.getState();
  const send = useSendMessage(stageId, (message) => sent(stageId, message));
  const canCommand = useCanCommand();
  const started = session !== null && session !== undefined;
  const off = !started || !canCommand || send.isPending || text.trim() === '';

  const submit = () => !off && send.mutate(text);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    submit();
  };
  return (
    <div className={css.composer}>
      {started && <MessageQueue stageId={stageId} />}
      {send.isError && <FailureNote>Not sent. {errorText(send.error)}</FailureNote>}
      <div className={css.row}>
        <Textarea
          className={css.text}
          aria-label="Message"
          aria-describedby="message-hint"
          placeholder={started ? 'Message' : 'Start the stage to write to Claude'}
          autosize
          minRows={1}
          maxRows={10}
          value={text}
          disabled={!started}
          readOnly={send.isPending}
          onChange={(event) => {
            if (send.isError) send.reset();
            set(stageId, event.currentTarget.value);
          }}
          onKeyDown={onKeyDown}
        />
        <Button onClick={submit} disabled={off} loading={send.isPending} leftSection={<IconSend2 size={16} />} h={36}>
          Send
        </Button>
      </div>
      <div className={css.hint} id="message-hint">
        {hint(session ?? null)}
      </div>
    </div>
  );
}

function hint(session: SessionSummary | null): string {
  if (session === null) return 'Nothing runs yet.';
  const keys = 'Enter sends, Shift Enter makes a new line.';
  switch (session.state) {
    case 'starting':
    case 'busy':
      return `Claude is working: your message waits in the queue until this turn ends. ${keys}`;
    case 'waiting':
      return `Claude waits for an answer: your message waits in the queue. ${keys}`;
    case 'idle':
      return keys;
    case 'ended':
    case 'failed':
      return `The session has ended; a message resumes it. ${keys}`;
    default:
      return session.state satisfies never;
  }
}
