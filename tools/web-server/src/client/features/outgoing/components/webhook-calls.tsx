import type { WebhookCall } from '@callboard/contract';
import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { signalTitles } from '../../../lib/signal-words.ts';
import { useNow } from '../../../lib/use-now.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { ErrorNote } from '../../../ui/error-note.tsx';
import { TimeSince } from '../../../ui/time-since.tsx';
import { callsQuery, useRepeatCall } from '../api/use-webhooks.ts';
import { deliveryStatusText } from '../model/webhook-words.ts';
import css from './outgoing.module.css';

/** The newest calls of a webhook, newest first, and what became of each. */
export function WebhookCalls({ webhookId }: { webhookId: string }) {
  const { data, error, refetch } = useQuery(callsQuery(webhookId));
  if (error !== null)
    return <ErrorNote lead="Its calls could not be read." error={error} retry={() => void refetch()} />;
  if (data === undefined) return null;
  if (data.length === 0) return <p className={css.hint}>No calls in the last week.</p>;
  return (
    <ul className={css.calls} aria-label="Newest calls">
      {data.map((call) => (
        <Call key={call.callId} webhookId={webhookId} call={call} />
      ))}
    </ul>
  );
}

function Call({ webhookId, call }: { webhookId: string; call: WebhookCall }) {
  const { callId, signal, stageId, stageTitle, isFollowUp, state, triedAt, error } = call;
  const now = new Date(useNow());
  const canCommand = useCanCommand();
  const repeat = useRepeatCall(webhookId);
  const fate = deliveryStatusText(call, now);
  const what = `${isFollowUp ? 'Settled: ' : ''}${signalTitles[signal]}`;
  return (
    <li>
      <div className={css.words}>
        <div>
          {what} · {stageTitle === null ? stageId : <Link to={`/stages/${stageId}`}>{stageTitle}</Link>}
        </div>
        <div className={state === 'sent' ? css.hint : css.unsent}>
          {fate ?? 'Sent'}
          {triedAt !== null && (
            <>
              {fate === null ? ' ' : ' · tried '}
              <TimeSince at={triedAt} ago />
            </>
          )}
          {error !== null && `. ${error}`}
        </div>
        {repeat.isError && <ErrorNote error={repeat.error} />}
      </div>
      <Button
        variant="default"
        size="compact-md"
        aria-label={`${state === 'queued' ? 'Send now' : 'Send again'}: ${what}, ${stageTitle ?? stageId}`}
        disabled={!canCommand}
        loading={repeat.isPending}
        onClick={() => repeat.mutate(callId)}
      >
        {state === 'queued' ? 'Send now' : 'Send again'}
      </Button>
    </li>
  );
}
