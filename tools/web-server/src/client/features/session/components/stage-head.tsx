import type { ContextUsage, StageView } from '@callboard/contract';
import { IconBellRinging } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import clsx from 'clsx';
import { type ComponentType, useId } from 'react';
import { Link } from 'react-router';
import { useIsPaused } from '../../../data/holds.ts';
import { useStagePosition } from '../../../data/machines.ts';
import { boardQuery } from '../../../data/queries.ts';
import { beforeStart } from '../../../lib/before-start.ts';
import { continueAction } from '../../../lib/continue-action.ts';
import { cost, count, exactTime } from '../../../lib/format.ts';
import { canAcknowledgeDenial } from '../../../lib/needs-you-words.ts';
import { phaseText } from '../../../lib/phase-words.ts';
import { usageOf } from '../../../lib/session-usage.ts';
import { reasonText, stateLabel } from '../../../lib/state-words.ts';
import { IsolationMark } from '../../../ui/isolation-mark.tsx';
import { MachineMark } from '../../../ui/machine-mark.tsx';
import { ProjectMark } from '../../../ui/project-mark.tsx';
import { PullRequestLine } from '../../../ui/pull-request-line.tsx';
import { StageIdText } from '../../../ui/stage-id-text.tsx';
import { TimeSince } from '../../../ui/time-since.tsx';
import { WhyNotRetried } from './retry-denial.tsx';
import { StageActions } from './stage-actions.tsx';
import css from './stage-head.module.css';

interface StageHeadProps {
  stage: StageView;
  /** How many of its requests wait for an answer. */
  pending: number;
  /** How many of its answers have an unknown delivery. */
  unsettled: number;
  /** Shows the first of its requests. */
  check: () => void;
  /** Decides about a check that did not pass. */
  CheckSlot: ComponentType<{ stage: StageView }>;
}

/** The stage's title, its state, and what can be done with it now. */
export function StageHead({ stage, pending, unsettled, check, CheckSlot }: StageHeadProps) {
  const isPaused = useIsPaused(stage);
  const { text, tone } = stateLabel(stage, pending, unsettled, isPaused);
  const { session } = stage;
  const place = useStagePosition(stage);
  const phase = phaseText(stage);
  const reason = reasonText(stage);
  const hasOwnPanel = beforeStart(stage) !== null || session?.limitWait != null || (session?.withheld && isPaused); // that says what can be done
  const continuing = hasOwnPanel ? null : continueAction(stage);
  const continueHint = useId();
  return (
    <header className={css.head}>
      <div className={css.name}>
        <ProjectOf projectId={stage.projectId} />
        <h1 className={css.title} title={stage.title}>
          {stage.title}
        </h1>
        <StageIdText id={stage.id} />
      </div>
      <div className={clsx(css.facts, 'figures')}>
        <span className={css.state} data-tone={tone}>
          {text}
        </span>
        {phase !== null && <span>{phase}</span>}
        {stage.pullRequest !== null && <PullRequestLine pullRequest={stage.pullRequest} isLink />}
        {session !== null && (
          <>
            {session.terminal === null && (
              <span title={`In this state since ${exactTime(session.stateSince)}`}>
                <TimeSince at={session.stateSince} />
              </span>
            )}
            <Link className={css.isolation} to={`/stages/${stage.id}?tab=details`}>
              <IsolationMark session={session} hasWord />
            </Link>
            {place !== null && <MachineMark {...place} className={css.machine} />}
            <span title="Cost so far">{cost(usageOf(session).costUsd)}</span>
            {session.contextUsage !== null && <ContextBar usage={session.contextUsage} />}
          </>
        )}
      </div>
      {pending > 0 && <Signal pending={pending} check={check} />}
      <StageActions stage={stage} continueHint={continueHint} CheckSlot={CheckSlot} />
      {reason !== null && (
        // The full text is in the transcript.
        <p className={clsx(css.reason, css.short)} data-tone={tone} title={reason}>
          {reason}
        </p>
      )}
      {canAcknowledgeDenial(stage) && <WhyNotRetried stage={stage} />}
      {continuing !== null && (
        <p className={css.reason} id={continueHint}>
          {continuing.label}: {continuing.does}
        </p>
      )}
    </header>
  );
}

/** The project's sign and name, before the title. */
function ProjectOf({ projectId }: { projectId: StageView['projectId'] }) {
  const { data: name = projectId } = useQuery({
    ...boardQuery,
    select: (view) => view.projects.find((project) => project.id === projectId)?.name,
  });
  return (
    <span className={css.project}>
      <ProjectMark name={name} />
      <span>{name}</span>
      <span aria-hidden>/</span>
    </span>
  );
}

/** How many requests of this stage are open. A click shows the first. */
function Signal({ pending, check }: { pending: number; check: () => void }) {
  const text = count(pending, 'open request', 'open requests');
  return (
    <button type="button" className={css.bell} aria-label={`${text} of this stage`} title={text} onClick={check}>
      <IconBellRinging size={16} aria-hidden />
      <span>{pending}</span>
    </button>
  );
}

/** How full the model's context is, as a bar and in words. */
function ContextBar({ usage }: { usage: ContextUsage }) {
  const percent = Math.round(usage.percentage);
  const text = `${usage.usedTokens.toLocaleString()} of ${usage.maxTokens.toLocaleString()} tokens of context used`;
  return (
    <span className={css.context} title={text}>
      <span className={css.meter} aria-hidden>
        <span style={{ width: `${Math.min(100, Math.max(2, percent))}%` }} />
      </span>
      <span className="visually-hidden">{text}</span>
      <span aria-hidden>ctx {percent}%</span>
    </span>
  );
}
