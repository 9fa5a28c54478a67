import { type PendingRequest, type StageId, type StageView, visibleText } from '@callboard/contract';
import { Group } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { boardQuery, stageOf, usePersonText } from '../../data/queries.ts';
import { type DeniedCall, denialRetryQuery, useRetryDenial } from '../../data/stage-commands.ts';
import { retryDoes } from '../../lib/denial-text.ts';
import { requestKey } from '../../lib/format.ts';
import { denialAtAGlance } from '../../lib/stage-status.ts';
import { useCanAnswer, useCanCommand } from '../../stream/stream-context.tsx';
import { ErrorNote } from '../../ui/notes.tsx';
import { Hint } from '../../ui/primitives.tsx';
import { StableButton } from '../../ui/stable-button.tsx';
import {
  DecisionButton,
  DecisionSlot,
  type Press,
  useKeysWork,
  useLaterKey,
  useVerdictKeys,
} from './decision-slot.tsx';
import { requestKinds } from './kinds/registry.ts';
import { useSetLater } from './presentation.tsx';
import { answeringText, useApprove } from './use-decide.tsx';
import { delayedFor } from './use-request.ts';
import { StillSending } from './verdict-actions.tsx';

interface CardRequestProps {
  stageId: StageId;
  /** The ids of the elements that say what is asked; the last one has the words. */
  describedBy: string;
  /**
   * Whether a person moved onto this row: then A, D and S work as they do on a form. Tell `askFor` of the request when they
   * do so; nothing else arms a row.
   */
  inHand?: boolean;
}

/** Allow and Deny on a card, if the line on the card is enough to decide its only request, or to allow what Claude Code denied. */
export function CardRequest({ stageId, describedBy, inHand = false }: CardRequestProps) {
  const { data: stage } = useQuery({ ...boardQuery, select: stageOf(stageId) });
  const select = (view: { pending: PendingRequest[] }) => view.pending.filter((request) => request.stageId === stageId);
  const { data: pending = [] } = useQuery({ ...boardQuery, select });
  const [request] = pending;
  const personText = usePersonText();
  if (request?.held !== undefined) return <Hint span>{answeringText(personText(request.held.by))}</Hint>;
  if (request === undefined && stage !== undefined) return <CardDenial stage={stage} describedBy={describedBy} />;
  if (request === undefined || pending.length > 1 || !requestKinds[request.kind].isDecidableOnCard(request))
    return null;
  const key = requestKey(request);
  return (
    <DecisionSlot
      key={key}
      about={key}
      takesKeys={inHand}
      armsAlone={false}
      describedBy={describedBy.split(' ').at(-1)}
    >
      <CardVerdict request={request} describedBy={describedBy} />
    </DecisionSlot>
  );
}

/** Allows the denied call that the stage stands for, or says that this cannot be. */
function CardDenial({ stage, describedBy }: { stage: StageView; describedBy: string }) {
  const denied = denialAtAGlance(stage);
  return denied === null ? null : <CardRetry denied={denied} title={stage.title} describedBy={describedBy} />;
}

interface CardRetryProps {
  denied: DeniedCall;
  title: string;
  describedBy: string;
}

/** Only a press allows it, half a second after its button was drawn. */
function CardRetry({ denied, title, describedBy }: CardRetryProps) {
  const { data } = useQuery(denialRetryQuery(denied));
  const retry = useRetryDenial(title);
  const isOff = !useCanCommand() || retry.isSuccess;
  if (data === undefined) return null;
  const { rules, whyNot } = data.retry;
  if (whyNot !== null)
    return (
      <Hint span size="xs" style={{ order: -1, whiteSpace: 'nowrap' }} title={visibleText(whyNot, 'prose')}>
        cannot be allowed here
      </Hint>
    );
  return (
    <span title={retryDoes(rules)}>
      <StableButton
        size="compact-sm"
        aria-describedby={describedBy}
        disabled={isOff}
        loading={retry.isPending}
        onClick={() => retry.mutate(denied)}
      >
        Allow and try again
      </StableButton>
    </span>
  );
}

function CardVerdict({ request, describedBy }: { request: PendingRequest; describedBy: string }) {
  const approve = useApprove(request);
  const setLater = useSetLater();
  const off = !useCanAnswer() || approve.isPending || approve.isSuccess;
  const keysWork = useKeysWork();
  const allow = (press?: Press) => approve.mutate({ decision: 'allow', ...delayedFor(press) });
  const deny = (press?: Press) => approve.mutate({ decision: 'deny', ...delayedFor(press) });
  useVerdictKeys({ act: allow, isOff: off }, { act: deny, isOff: off });
  useLaterKey(() => setLater.mutate({ requests: [request], later: { until: null } }));
  const button = (decision: 'allow' | 'deny', label: string, key: string) => (
    <DecisionButton
      size="compact-sm"
      variant={decision === 'allow' ? 'filled' : 'default'}
      aria-describedby={describedBy}
      aria-keyshortcuts={keysWork ? key : undefined}
      disabled={off}
      loading={approve.isPending && approve.variables.decision === decision}
      act={decision === 'allow' ? allow : deny}
    >
      {/* The key is the first letter: a hint beside it would move the buttons when it appears. */}
      {keysWork ? (
        <span>
          <u>{label.slice(0, 1)}</u>
          {label.slice(1)}
        </span>
      ) : (
        label
      )}
    </DecisionButton>
  );
  return (
    <>
      {approve.isError && <ErrorNote error={approve.error} />}
      <StillSending isPending={approve.isPending} />
      <Group gap="xs" wrap="nowrap">
        {button('deny', 'Deny', 'd')}
        {button('allow', 'Allow', 'a')}
      </Group>
    </>
  );
}
