import type { SessionSummary, StageId, StageView } from '@callboard/contract';
import { Button } from '@mantine/core';
import { IconBan, IconInfoCircle, IconMessages, IconShieldExclamation } from '@tabler/icons-react';
import clsx from 'clsx';
import { type ComponentType, memo, useId, useLayoutEffect, useRef } from 'react';
import { Link } from 'react-router';
import { useAcknowledgeDenial, useAdvanceStage, useStartStage } from '../../../data/stage-commands.ts';
import { useTrustDialog } from '../../../data/trust-query.ts';
import { gapSentences, gapsWords } from '../../../lib/cli-gap-words.ts';
import { cost, count } from '../../../lib/format.ts';
import { canAcknowledgeDenial, phaseNext } from '../../../lib/needs-you-words.ts';
import { usageOf } from '../../../lib/session-usage.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { IsolationMark } from '../../../ui/isolation-mark.tsx';
import { TextWithPath } from '../../../ui/text-with-path.tsx';
import { TimeSince } from '../../../ui/time-since.tsx';
import { useCard } from '../api/use-card.ts';
import { useBoardUi } from '../model/board-ui.ts';

import css from './card.module.css';
import { CardMenu } from './card-menu.tsx';

export interface StageCardProps {
  stageId: StageId;
  /** Answers the stage's request, if one line is enough to decide. */
  RequestSlot: ComponentType<{ stageId: StageId; describedBy: string }>;
  /** The id of the element that explains how to move a card by keyboard. */
  dragHelp?: string | undefined;
}

/** One stage on the board. */
export const StageCard = memo(function StageCard({ stageId, RequestSlot, dragHelp }: StageCardProps) {
  const card = useCard(stageId);
  const sending = useBoardUi((ui) => ui.sending[stageId]);
  const id = useId();
  if (card === undefined) return null;
  const { stage, words, phase, project, pending, needsSince } = card;
  return (
    <article
      className={css.card}
      data-column={stage.column}
      aria-labelledby={`${id}title`}
      aria-busy={sending !== undefined}
    >
      <div className={css.top}>
        <h3 className={css.title} id={`${id}title`}>
          <CardLink stage={stage} describedBy={dragHelp} />
        </h3>
        {pending > 0 && <OpenRequests count={pending} />}
        <div className={css.menu}>
          <CardMenu stage={stage} />
        </div>
      </div>
      <div className={css.project}>
        <span className={css.stageId}>{stage.id}</span> · {project} · P{stage.priority}
      </div>
      {phase !== null && <div className={css.phase}>{phase}</div>}
      {sending === undefined ? (
        <div className={css.words} data-tone={words.tone} id={`${id}words`} title={words.text}>
          {stage.session?.alarm != null && (
            <IconShieldExclamation size={14} aria-hidden style={{ verticalAlign: -2, marginRight: 4 }} />
          )}
          <TextWithPath text={words.text} path={words.path} />
        </div>
      ) : (
        <div className={css.words} id={`${id}words`} role="status">
          {sending} …
        </div>
      )}
      <LeftOut stage={stage} />
      <Changes stage={stage} />
      <div className={css.foot}>
        <Foot stage={stage} needsSince={needsSince} isAsking={pending > 0} />
        {stage.column === 'ready' && <StartButton stage={stage} describedBy={`${id}title`} />}
        {stage.column === 'needs-you' && (
          <div className={css.actions}>
            <RequestSlot stageId={stage.id} describedBy={`${id}title ${id}words`} />
            {stage.session?.atGate === true && stage.session.alarm === null && pending === 0 && (
              <AdvanceButton stage={stage} describedBy={`${id}title ${id}words`} />
            )}
            {canAcknowledgeDenial(stage) && pending === 0 && (
              <SeenButton stage={stage} describedBy={`${id}title ${id}words`} />
            )}
          </div>
        )}
      </div>
    </article>
  );
});

/** The number of the stage's open requests. */
function OpenRequests({ count: open }: { count: number }) {
  const words = count(open, 'open request', 'open requests');
  return (
    <span className={css.badge} role="img" aria-label={words} title={words}>
      {open}
    </span>
  );
}

/** The title, which opens the stage. It has the card's focus, and keeps it when the card moves to another column. */
function CardLink({ stage: { id, title }, describedBy }: { stage: StageView; describedBy: string | undefined }) {
  const ref = useRef<HTMLAnchorElement>(null);
  useLayoutEffect(() => {
    const link = ref.current;
    const { takeFocus, leaveFocused } = useBoardUi.getState();
    if (document.activeElement === document.body && takeFocus(id)) link?.focus();
    return () => {
      if (document.activeElement === link) leaveFocused(id);
    };
  }, [id]);
  return (
    <Link
      ref={ref}
      data-card={id}
      to={`/stages/${id}`}
      title={String(id)}
      draggable={false}
      aria-describedby={describedBy}
    >
      {title}
    </Link>
  );
}

interface FootProps {
  stage: StageView;
  needsSince: string | null;
  /** Whether it has buttons. Figures that grow while a turn runs would move them under the pointer. */
  isAsking: boolean;
}

function Foot({ stage, needsSince, isAsking }: FootProps) {
  const { session } = stage;
  const figures = isAsking ? null : session;
  return (
    <>
      {needsSince !== null ? (
        <span className={clsx(css.time, css.waited)}>
          <span className="visually-hidden">waits for you since </span>
          <TimeSince at={needsSince} />
        </span>
      ) : (
        <span className={css.time}>
          <TimeSince at={stage.completedAt ?? session?.stateSince ?? stage.createdAt} />
        </span>
      )}
      {figures !== null && usageOf(figures).costUsd > 0 && <span>{cost(usageOf(figures).costUsd)}</span>}
      {figures !== null && figures.contextUsage !== null && <ContextFill {...figures.contextUsage} />}
      {session !== null && session.denials > 0 && <Denials count={session.denials} />}
      {session !== null && <Gaps session={session} />}
      {session !== null && stage.completedAt === null && (
        <span className={css.gaps}>
          <IsolationMark session={session} />
        </span>
      )}
      {session !== null && session.queued > 0 && (
        <span title={`${count(session.queued, 'message')} queued${session.queueHeld ? ', held back' : ''}`}>
          <IconMessages size={14} aria-hidden style={{ verticalAlign: -2 }} /> {session.queued}
          <span className="visually-hidden"> queued</span>
          {session.queueHeld && ' held'}
        </span>
      )}
    </>
  );
}

/** How many calls Claude Code denied on its own. */
function Denials({ count: denials }: { count: number }) {
  const words = `${count(denials, 'tool call')} denied by Claude Code`;
  return (
    <span role="img" aria-label={words} title={words}>
      <IconBan size={14} aria-hidden style={{ verticalAlign: -2 }} /> {denials}
    </span>
  );
}

/** What Callboard relies on and the session's Claude Code release lacks. */
function Gaps({ session }: { session: SessionSummary }) {
  const words = gapsWords(session);
  if (words === null) return null;
  const label = `${words}: ${gapSentences(session).join(' ')}`;
  return (
    <span className={css.gaps} role="img" aria-label={label} title={label}>
      <IconInfoCircle size={14} aria-hidden />
    </span>
  );
}

/** The worktree's changes at the end of the last turn. */
function Changes({ stage }: { stage: StageView }) {
  const { files = 0, additions = 0, deletions = 0 } = stage.session?.changes ?? {};
  if (files === 0) return null;
  const words = `${count(files, 'file')} changed, ${additions} lines added, ${deletions} removed`;
  return (
    <div className={css.changes} role="img" aria-label={words} title={words}>
      {count(files, 'file')} +{additions} −{deletions}
    </div>
  );
}

/** Says that the session runs without the repository's settings, and offers to review them. */
function LeftOut({ stage: { id, projectId, session } }: { stage: StageView }) {
  const openTrust = useTrustDialog((state) => state.open);
  if (session === null || session.leftOut === null) return null;
  return (
    <div className={css.leftOut} title={session.leftOut.summary}>
      Without the repository’s settings{' '}
      <button type="button" onClick={() => openTrust({ projectId, stageId: id })}>
        Review
      </button>
    </div>
  );
}

/** How full the model's context is, as a thin bar. */
function ContextFill({ percentage }: { percentage: number }) {
  const words = `Context ${Math.round(percentage)} % full`;
  return (
    <span className={css.context} role="img" aria-label={words} title={words}>
      <span style={{ width: `${Math.min(100, Math.max(0, percentage))}%` }} />
    </span>
  );
}

function StartButton({ stage, describedBy }: { stage: StageView; describedBy: string }) {
  const start = useStartStage(stage.title);
  return (
    <Button
      className={css.actions}
      size="compact-sm"
      variant="default"
      aria-describedby={describedBy}
      disabled={!useCanCommand()}
      loading={start.isPending}
      onClick={() => start.mutate(stage.id)}
    >
      Start
    </Button>
  );
}

/** Acknowledges that Claude Code denied the last call, which moves the stage to Review. */
function SeenButton({ stage, describedBy }: { stage: StageView; describedBy: string }) {
  const acknowledge = useAcknowledgeDenial(stage.title);
  return (
    <Button
      size="compact-sm"
      variant="default"
      aria-describedby={describedBy}
      disabled={!useCanCommand()}
      loading={acknowledge.isPending}
      onClick={() => acknowledge.mutate(stage.id)}
    >
      Seen
    </Button>
  );
}

/** Starts the phase that waits for a person. */
function AdvanceButton({ stage, describedBy }: { stage: StageView; describedBy: string }) {
  const advance = useAdvanceStage(stage.title);
  return (
    <Button
      size="compact-sm"
      aria-describedby={describedBy}
      disabled={!useCanCommand()}
      loading={advance.isPending}
      onClick={() => advance.mutate(stage.id)}
    >
      Let {phaseNext(stage)} begin
    </Button>
  );
}
