import type { PendingRequest, StageId } from '@callboard/contract';
import { useQuery } from '@tanstack/react-query';
import { boardQuery } from '../../../data/queries.ts';
import { errorText } from '../../../lib/api-client.ts';
import { requestKey } from '../../../lib/request-text.ts';
import { useCanAnswer } from '../../../stream/stream-context.tsx';
import { FailureNote } from '../../../ui/note.tsx';
import { useApprove } from '../api/use-decide.ts';
import { requestKinds } from '../kinds/registry.ts';
import { DecisionButton, DecisionPlace } from './decision-place.tsx';
import css from './request.module.css';
import { StillSending } from './still-sending.tsx';

/** Allow and Deny on a card, if the line on the card is enough to decide its only request. */
export function CardRequest({ stageId, describedBy }: { stageId: StageId; describedBy: string }) {
  const select = (view: { pending: PendingRequest[] }) => view.pending.filter((request) => request.stageId === stageId);
  const { data: pending = [] } = useQuery({ ...boardQuery, select });
  const [request] = pending;
  if (request === undefined || pending.length > 1 || !requestKinds[request.kind].isDecidableOnCard(request))
    return null;
  const key = requestKey(request);
  return (
    <DecisionPlace key={key} about={key} takesKeys={false}>
      <CardVerdict request={request} describedBy={describedBy} />
    </DecisionPlace>
  );
}

function CardVerdict({ request, describedBy }: { request: PendingRequest; describedBy: string }) {
  const approve = useApprove(request);
  const off = !useCanAnswer() || approve.isPending || approve.isSuccess;
  const button = (decision: 'allow' | 'deny', label: string) => (
    <DecisionButton
      size="compact-sm"
      variant={decision === 'allow' ? 'filled' : 'default'}
      aria-describedby={describedBy}
      disabled={off}
      loading={approve.isPending && approve.variables.decision === decision}
      act={() => approve.mutate({ decision })}
    >
      {label}
    </DecisionButton>
  );
  return (
    <>
      {approve.isError && <FailureNote>{errorText(approve.error)}</FailureNote>}
      <StillSending isPending={approve.isPending} />
      <div className={css.cardActions}>
        {button('deny', 'Deny')}
        {button('allow', 'Allow')}
      </div>
    </>
  );
}
