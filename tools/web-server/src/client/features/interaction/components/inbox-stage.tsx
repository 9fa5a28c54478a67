import { checkAtGate, type StageView, visibleText, waitingSince } from '@callboard/contract';
import { useQuery } from '@tanstack/react-query';
import { useId } from 'react';
import { type DeniedCall, denialRetryQuery, useRetryDenial } from '../../../data/denial-retry.ts';
import {
  useAcknowledgeAlarm,
  useAcknowledgeDenial,
  useAdvanceStage,
  useContinueStage,
  useRunCheck,
} from '../../../data/stage-commands.ts';
import { retryDoes } from '../../../lib/denial-words.ts';
import { canAcknowledgeDenial, phaseNext, stoppedText } from '../../../lib/needs-you-words.ts';
import { reasonText, stateLabel } from '../../../lib/state-words.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { KeyHint } from '../../../ui/key-hint.tsx';
import { useShortcuts } from '../../../ui/shortcuts.ts';
import { useStable } from '../../../ui/steady-button.tsx';
import { TimeSince } from '../../../ui/time-since.tsx';
import { useProjectName } from '../api/use-request.ts';
import { DecisionButton, DecisionSlot, useDecision, useKeysWork } from './decision-place.tsx';
import css from './inbox.module.css';

/** A stage that needs a person but has no request: why it stopped, and the action that continues it. */
export function InboxStage({ stage }: { stage: StageView }) {
  const titleId = useId();
  const { text, tone } = stateLabel(stage, 0, 0);
  const alarm = stage.session?.alarm?.detail;
  const why = alarm ?? (tone === 'fail' ? reasonText(stage) : stoppedText(stage).text);
  const project = useProjectName(stage.id);
  return (
    <DecisionSlot about={String(stage.id)}>
      <article className={css.stopped} aria-labelledby={titleId}>
        <h2 className={css.stoppedTitle} id={titleId}>
          {stage.title}
        </h2>
        <p className={css.stoppedState}>
          <strong data-tone={tone}>{text}</strong> · {project} · waits <TimeSince at={waitingSince(stage)} />
        </p>
        {why !== null && why.toLowerCase() !== text.toLowerCase() && <p className={css.stoppedWhy}>{why}</p>}
        <ContinueAction stage={stage} />
        {canAcknowledgeDenial(stage) && <RetryAction stage={stage} />}
      </article>
    </DecisionSlot>
  );
}

/** The button that continues the stage, with its key. Without one, the stage's page says what to do. */
function ContinueAction({ stage }: { stage: StageView }) {
  const step = useNextStep(stage);
  const doesId = useId();
  const { mayKeyDecide } = useDecision();
  const keysWork = useKeysWork();
  const off = !useCanCommand() || step === null || step.isSending;
  const act = () => step?.run();
  useShortcuts({
    a: (event) => {
      if (off || !mayKeyDecide(event)) return false;
      act();
      return true;
    },
  });
  if (step === null)
    return <p className={css.stoppedDoes}>Its page shows what happened, and takes a message to Claude</p>;
  return (
    <div className={css.stoppedStep}>
      <span className={css.stoppedDoes} id={doesId}>
        {step.does}
      </span>
      <DecisionButton
        disabled={off}
        loading={step.isSending}
        aria-describedby={doesId}
        aria-keyshortcuts={keysWork ? 'a' : undefined}
        rightSection={<KeyHint isOff={!keysWork}>A</KeyHint>}
        act={act}
      >
        {step.label}
      </DecisionButton>
    </div>
  );
}

/** Allows what Claude Code denied, with its key, or says why that cannot be. */
function RetryAction({ stage }: { stage: StageView }) {
  const requestId = stage.session?.openDenial?.requestId ?? null;
  return requestId === null ? null : <Retry denied={{ stageId: stage.id, requestId }} title={stage.title} />;
}

function Retry({ denied, title }: { denied: DeniedCall; title: string }) {
  const { data } = useQuery(denialRetryQuery(denied));
  if (data === undefined) return null;
  const { rules, whyNot } = data.retry;
  if (whyNot !== null) return <p className={css.stoppedDoes}>{visibleText(whyNot, 'prose')}</p>;
  return <RetryStep denied={denied} title={title} rules={rules} />;
}

/** It may come after the other button, so it has to stand for a moment itself. */
function RetryStep({ denied, title, rules }: { denied: DeniedCall; title: string; rules: readonly string[] }) {
  const retry = useRetryDenial(title);
  const doesId = useId();
  const { mayKeyDecide } = useDecision();
  const isStable = useStable();
  const keysWork = useKeysWork() && isStable;
  const off = !useCanCommand() || !isStable || retry.isPending || retry.isSuccess;
  const act = () => retry.mutate(denied);
  useShortcuts({
    t: (event) => {
      if (off || !mayKeyDecide(event)) return false;
      act();
      return true;
    },
  });
  return (
    <div className={css.stoppedStep}>
      <span className={css.stoppedDoes} id={doesId}>
        {retryDoes(rules)}
      </span>
      <DecisionButton
        variant="default"
        disabled={off}
        loading={retry.isPending}
        aria-describedby={doesId}
        aria-keyshortcuts={keysWork ? 't' : undefined}
        rightSection={<KeyHint isOff={!keysWork}>T</KeyHint>}
        act={act}
      >
        Allow and try again
      </DecisionButton>
    </div>
  );
}

interface NextStep {
  label: string;
  does: string;
  run: () => void;
  isSending: boolean;
}

function useNextStep(stage: StageView): NextStep | null {
  const advance = useAdvanceStage(stage.title);
  const continuing = useContinueStage(stage);
  const acknowledge = useAcknowledgeAlarm(stage.title);
  const seen = useAcknowledgeDenial(stage.title);
  const check = useRunCheck(stage.title);
  if (stage.session?.alarm != null)
    return {
      label: 'Acknowledge',
      does: 'Lets the session continue. Its page shows what happened.',
      run: () => acknowledge.mutate(stage.id),
      isSending: acknowledge.isPending,
    };
  if (checkAtGate(stage) !== null)
    return {
      label: 'Run again',
      does: 'Its page shows the output, sends it to Claude once more, or accepts the work anyway.',
      run: () => check.mutate(stage.id),
      isSending: check.isPending,
    };
  if (stage.session?.atGate === true)
    return {
      label: `Start ${phaseNext(stage)}`,
      does: 'Its page shows what the finished phase did.',
      run: () => advance.mutate(stage.id),
      isSending: advance.isPending,
    };
  if (canAcknowledgeDenial(stage))
    return {
      label: 'Seen',
      does: 'Moves the stage to Review. A message to Claude does the same.',
      run: () => seen.mutate(stage.id),
      isSending: seen.isPending,
    };
  if (continuing === null) return null;
  const { label, does, run, isSending } = continuing;
  return { label, does: `${label} ${does}`, run, isSending };
}
