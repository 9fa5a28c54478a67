import { type Receipt, receiptCounts, type StageView } from '@callboard/contract';
import { Button, Loader } from '@mantine/core';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { client } from '../../../lib/api-client.ts';
import { count, exactTime } from '../../../lib/format.ts';
import { callReason } from '../../../lib/receipt-words.ts';
import { CopyButton } from '../../../ui/copy-code.tsx';
import { ErrorNote } from '../../../ui/error-note.tsx';
import css from './stage-receipt.module.css';

const receiptQuery = ({ id, session }: StageView) =>
  queryOptions({
    queryKey: ['receipt', id, session?.lastTurn?.at, session?.state],
    queryFn: ({ signal }) => client.command('get_receipt', { stageId: id }, { signal }),
    staleTime: 0,
  });

/** What people consented to in this stage. It is read when somebody wants to see it: it goes through the whole transcript. */
export function StageReceipt({ stage }: { stage: StageView }) {
  const [isOpen, setOpen] = useState(false);
  const { data, error, refetch } = useQuery({ ...receiptQuery(stage), enabled: isOpen });
  if (!isOpen)
    return (
      <Button size="compact-sm" variant="default" onClick={() => setOpen(true)}>
        Show the receipt
      </Button>
    );
  if (error !== null)
    return <ErrorNote lead="The receipt could not be made." error={error} retry={() => void refetch()} />;
  if (data === undefined) return <Loader size="sm" color="gray" role="img" aria-label="Making the receipt" />;
  const { receipt, markdown } = data;
  return (
    <section className={css.receipt} aria-label="Receipt">
      <div className={css.head}>
        <span>
          {count(receipt.total, 'tool call')} in {count(receipt.turns.length, 'turn')}
        </span>
        <span className={css.copies}>
          Markdown <CopyButton label="Copy as Markdown" read={() => markdown} />
          JSON <CopyButton label="Copy as JSON" read={() => JSON.stringify(receipt, null, 2)} />
        </span>
      </div>
      <Totals totals={receipt.totals} />
      {receipt.gaps.length > 0 && (
        <ul className={css.gaps} aria-label="Not known">
          {receipt.gaps.map((gap) => (
            <li key={gap}>{gap}</li>
          ))}
        </ul>
      )}
      {receipt.turns.map((turn) => (
        <Turn key={turn.number} turn={turn} />
      ))}
      {receipt.others.length > 0 && (
        <details>
          <summary>Besides tool calls: {count(receipt.others.length, 'decision')}</summary>
          <ul className={css.calls}>
            {receipt.others.map(({ kind, asked, outcome, by, at }) => (
              <li key={`${at} ${asked}`} title={exactTime(at)}>
                <code>{asked === '' ? kind : asked}</code> {outcome}
                {by !== null && ` by ${by}`}
              </li>
            ))}
          </ul>
        </details>
      )}
    </section>
  );
}

function Totals({ totals }: { totals: Receipt['totals'] }) {
  return (
    <ul className={css.totals}>
      {receiptCounts(totals).map(({ reason, count, text }) => (
        <li key={reason} data-reason={reason}>
          <span className="figures">{count}</span> {text}
        </li>
      ))}
    </ul>
  );
}

function Turn({ turn: { number, at, message, by, calls } }: { turn: Receipt['turns'][number] }) {
  if (calls.length === 0) return null;
  return (
    <details>
      <summary title={exactTime(at)}>
        Turn {number}: {count(calls.length, 'call')}
        <span className={css.message}>
          {' '}
          {message === null ? 'begun by Claude Code' : `${by ?? 'Callboard'}: ${message}`}
        </span>
      </summary>
      <ul className={css.calls}>
        {calls.map((call) => (
          <li key={call.toolUseId}>
            <code>{call.asked}</code> <span data-reason={call.reason}>{callReason(call)}</span>
            {call.changed !== undefined && (
              <>
                {call.changed.hook === null ? '; a hook' : `; the hook ${call.changed.hook}`} changed it from{' '}
                <code>{call.changed.from}</code>
              </>
            )}
          </li>
        ))}
      </ul>
    </details>
  );
}
