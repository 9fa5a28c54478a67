import { type Decision, type StageView, visibleText } from '@callboard/contract';
import { Tooltip } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type DeniedCall, denialRetryQuery, useRetryDenial } from '../../../data/denial-retry.ts';
import { boardQuery, stageOf } from '../../../data/queries.ts';
import { retryDoes } from '../../../lib/denial-words.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { StableButton } from '../../../ui/steady-button.tsx';
import { TimeSince } from '../../../ui/time-since.tsx';
import head from './stage-head.module.css';
import css from './transcript.module.css';

/** Allows the call that Claude Code denied last, in the head of its stage. */
export function RetryDenial({ stage }: { stage: StageView }) {
  const denied = openDenialOf(stage);
  return denied === null ? null : <RetryButton denied={denied} title={stage.title} />;
}

/** Why the call that was denied last cannot be allowed; nothing if it can. */
export function WhyNotRetried({ stage }: { stage: StageView }) {
  const denied = openDenialOf(stage);
  return denied === null ? null : <RefusalReason denied={denied} className={head.reason} />;
}

function openDenialOf({ id, session }: StageView): DeniedCall | null {
  const requestId = session?.openDenial?.requestId ?? null;
  return requestId === null ? null : { stageId: id, requestId };
}

/** Below a call that Claude Code denied: allows it after all, says why that cannot be, or who has done so. */
export function DeniedCallLine({ decision }: { decision: Decision }) {
  const { stageId, requestId, settlement } = decision;
  const { data: title = stageId } = useQuery({ ...boardQuery, select: (view) => stageOf(stageId)(view)?.title });
  if (settlement !== null)
    return (
      <p className={css.deniedLine}>
        Allowed by {settlement.by} <TimeSince at={settlement.at} ago />, and Claude was told to try again
      </p>
    );
  return (
    <div className={css.deniedLine}>
      <RetryButton denied={{ stageId, requestId }} title={title} isSmall />
      <RefusalReason denied={{ stageId, requestId }} />
    </div>
  );
}

function RetryButton({ denied, title, isSmall = false }: { denied: DeniedCall; title: string; isSmall?: boolean }) {
  const canCommand = useCanCommand();
  const { data } = useQuery(denialRetryQuery(denied));
  const retry = useRetryDenial(title);
  if (data === undefined || data.retry.whyNot !== null) return null;
  return (
    <Tooltip label={retryDoes(data.retry.rules)} multiline maw={360}>
      <StableButton
        {...(isSmall && { size: 'compact-sm', variant: 'default' })}
        disabled={!canCommand || retry.isSuccess}
        loading={retry.isPending}
        onClick={() => retry.mutate(denied)}
      >
        Allow and try again
      </StableButton>
    </Tooltip>
  );
}

function RefusalReason({ denied, className }: { denied: DeniedCall; className?: string | undefined }) {
  const refusalReason = useQuery(denialRetryQuery(denied)).data?.retry.whyNot ?? null;
  return refusalReason === null ? null : <p className={className}>{visibleText(refusalReason, 'prose')}</p>;
}
