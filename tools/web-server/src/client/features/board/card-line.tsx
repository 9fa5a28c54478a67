import { awaitsTasks, isMidTurn, type SessionSummary, type StageView, shownFields } from '@callboard/contract';
import { IconBan, IconInfoCircle, IconMessages, IconPlayerPause } from '@tabler/icons-react';
import { useEffect, useState } from 'react';
import { usageOf } from '../../data/budget-data.ts';
import { trustDialog } from '../../data/dialogs.ts';
import { useStagePosition } from '../../data/machines.ts';
import { checkResult } from '../../lib/check-text.ts';
import { cost, count } from '../../lib/format.ts';
import { lastReview, reviewProblem, reviewText } from '../../lib/review-text.ts';
import { gapSentences, gapsText } from '../../lib/stage-status.ts';
import { useSessionNow } from '../../stream/stream-context.tsx';
import { IsolationMark, KindIcon, MachineMark } from '../../ui/marks.tsx';
import { Count } from '../../ui/primitives.tsx';
import { PullRequestLine } from '../../ui/pull-request-line.tsx';
import { TextWithPath, TimeSince } from '../../ui/text.tsx';
import css from './card.module.css';
import { activityText, backgroundText, type CardData, type PhaseText } from './cards.ts';

/** The line below a title: what the stage does now, asks, waits for or has made. */
export function CardLine({ card: { stage, text } }: { card: CardData }) {
  const stalled = stage.session?.stalledSince ?? null;
  if (stage.column === 'running') return <NowLine stage={stage} otherwise={text.text} />;
  if (stage.column === 'review' && stage.pullRequest !== null)
    return (
      <span className={css.words}>
        <PullRequestLine pullRequest={stage.pullRequest} />
      </span>
    );
  if (stage.column === 'review' && (stage.session?.changes?.files ?? 0) > 0) return <Changes stage={stage} />;
  const isAsked = stage.session !== null && awaitsTasks(stage.session); // about its background commands
  if (stalled !== null && !isAsked && text.asked === undefined && stage.session?.alarm === null)
    return (
      <span className={css.words} data-tone="needs">
        silent for <TimeSince at={stalled} />
      </span>
    );
  return (
    <span
      className={css.words}
      data-tone={text.tone}
      data-code={text.isCode === true}
      data-line={text.path !== undefined}
      title={text.text === '' ? undefined : text.text}
    >
      {text.asked !== undefined && (
        <span className={css.kind}>
          <KindIcon kind={text.asked.kind} toolName={text.asked.toolName} size={14} />
        </span>
      )}
      <TextWithPath text={text.text} path={text.path} isLine={text.path !== undefined} />
    </span>
  );
}

/** What Claude does this second: the only part of a card that changes while a turn runs. */
function NowLine({ stage: { session }, otherwise }: { stage: StageView; otherwise: string }) {
  const now = useSessionNow(session);
  if (now === null) return <span className={css.words}>{otherwise}</span>;
  const { kind, text, path, isCode, since } = activityText(now);
  return (
    <span className={css.now} data-kind={kind}>
      <span className={css.words} data-code={isCode} title={text}>
        {kind === 'text' && <span className="visually-hidden">writing: </span>}
        {kind === 'command' && <span className={css.prompt}>$ </span>}
        <TextWithPath text={text} path={path} isLine={path !== undefined} />
      </span>
      {since !== null && <Clock since={since} />}
    </span>
  );
}

/** Minutes and seconds since something began. Ticks alone, so that nothing around it is drawn again. */
function Clock({ since }: { since: string }) {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, []);
  const seconds = Math.max(0, Math.floor((now - Date.parse(since)) / 1_000));
  const minutes = Math.floor(seconds / 60);
  const text =
    minutes < 60
      ? `${minutes}:${String(seconds % 60).padStart(2, '0')}`
      : `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, '0')} h`;
  return <span className={css.clock}>{text}</span>;
}

/** The worktree's changes at the end of the last turn. */
function Changes({ stage }: { stage: StageView }) {
  const { files = 0, additions = 0, deletions = 0 } = stage.session?.changes ?? {};
  const checks = checkResult(stage);
  const review = lastReview(stage);
  const said = [checks, review === null ? '' : reviewText(review), backgroundText(stage)];
  const reported = said.filter((text) => text !== '');
  const text = `${[...reported, ''].join(', ')}${count(files, 'file')} changed, ${additions} lines added, ${deletions} removed`;
  return (
    <span className={css.words} data-code="true" role="img" aria-label={text} title={text}>
      +{additions}
      {deletions > 0 && ` −${deletions}`} <span className={css.files}>{count(files, 'file')}</span>
      {reported.length > 0 && (
        <span
          className={css.files}
          data-tone={review !== null && reviewProblem(review.state) !== null ? 'fail' : undefined}
        >
          {' '}
          {reported.join(', ')}
        </span>
      )}
    </span>
  );
}

/** A started stage is on hold, and its line does not say so. */
export function PausedMark({ card: { stage, paused, text } }: { card: CardData }) {
  if (!paused || stage.session === null || stage.completedAt !== null || text.text.startsWith('On hold')) return null;
  const label = isMidTurn(stage.session.state) ? 'On hold when this turn has ended' : 'On hold';
  return (
    <span className={css.mark} role="img" aria-label={label} title={label}>
      <IconPlayerPause size={13} aria-hidden />
    </span>
  );
}

/** Where the stage runs, if there is more than one machine. */
export function MachineOfCard({ stage }: { stage: StageView }) {
  const place = useStagePosition(stage);
  if (place === null || stage.completedAt !== null) return null;
  return <MachineMark {...place} className={css.machine} />;
}

/** What the fields of a stage show on its card. */
export const FieldsOfCard = ({ stage }: { stage: StageView }) =>
  shownFields(stage, 'onCard').map(({ label, text }) => (
    <span key={label} className={css.machine} title={`${label}: ${text}`}>
      <span className="visually-hidden">{label}: </span>
      {text}
    </span>
  ));

/** The number of the stage's open requests. */
export function OpenRequests({ count: open }: { count: number }) {
  const text = count(open, 'open request', 'open requests');
  return (
    <Count role="img" aria-label={text} title={text}>
      {open}
    </Count>
  );
}

/** The phases as dots: past ones and the current one are filled. */
export function PhaseDots({ phase: { label, index, total } }: { phase: PhaseText }) {
  return (
    <span className={css.phases} role="img" aria-label={label} title={label}>
      {Array.from({ length: total }, (_, phase) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a dot is its place
        <span key={phase} data-state={phase < index ? 'past' : phase === index ? 'now' : 'ahead'} />
      ))}
    </span>
  );
}

export function Queued({ session: { queued, queueHeld } }: { session: SessionSummary }) {
  if (queued === 0) return null;
  const text = `${count(queued, 'message')} queued${queueHeld ? ', paused' : ''}`;
  return (
    <span className={css.mark} role="img" aria-label={text} title={text}>
      <IconMessages size={13} aria-hidden /> {queued}
    </span>
  );
}

interface FiguresProps {
  stage: StageView;
  /** Whether it has buttons. Figures that grow while a turn runs would move them under the pointer. */
  isAsking: boolean;
}

/** Cost and context, where there is room for them and on hover. */
export function Figures({ stage: { session }, isAsking }: FiguresProps) {
  if (session === null || isAsking) return null;
  const { costUsd } = usageOf(session);
  const context = session.contextUsage === null ? null : Math.round(session.contextUsage.percentage);
  if (costUsd === 0 && context === null) return null;
  return (
    <span className={css.figures}>
      {costUsd > 0 && <span>{cost(costUsd)}</span>}
      {context !== null && <span title={`Context ${context}% full`}>{context}%</span>}
    </span>
  );
}

/** What a person should know about the session and is seldom so. */
export function SessionMarks({ stage: { session, completedAt } }: { stage: StageView }) {
  if (session === null) return null;
  return (
    <>
      {session.denials > 0 && <Denials count={session.denials} />}
      <Gaps session={session} />
      {completedAt === null && (
        <span className={css.mark} data-quiet="true">
          <IsolationMark session={session} />
        </span>
      )}
    </>
  );
}

/** How many calls Claude Code denied on its own. */
function Denials({ count: denials }: { count: number }) {
  const text = `${count(denials, 'tool call')} denied by Claude Code`;
  return (
    <span className={css.mark} role="img" aria-label={text} title={text}>
      <IconBan size={13} aria-hidden /> {denials}
    </span>
  );
}

/** What Callboard relies on and the session's Claude Code release lacks. */
function Gaps({ session }: { session: SessionSummary }) {
  const text = gapsText(session);
  if (text === null) return null;
  const label = `${text}: ${gapSentences(session).join(' ')}`;
  return (
    <span className={css.mark} role="img" aria-label={label} title={label}>
      <IconInfoCircle size={13} aria-hidden />
    </span>
  );
}

/** Says that the session runs without the repository's settings, and offers to review them. */
export function LeftOut({ stage: { id, projectId, session } }: { stage: StageView }) {
  if (session === null || session.leftOut === null) return null;
  return (
    <div className={css.leftOut} title={session.leftOut.summary}>
      Without the repository’s settings{' '}
      <button type="button" onClick={() => trustDialog.open({ projectId, stageId: id })}>
        Review
      </button>
    </div>
  );
}
