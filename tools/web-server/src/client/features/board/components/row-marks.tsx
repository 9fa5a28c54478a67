import { isMidTurn, type SessionSummary, type StageView } from '@callboard/contract';
import { IconBan, IconInfoCircle, IconMessages, IconPlayerPause } from '@tabler/icons-react';
import { useStagePosition } from '../../../data/machines.ts';
import { useTrustDialog } from '../../../data/trust-query.ts';
import { gapSentences, gapsText } from '../../../lib/cli-gap-words.ts';
import { cost, count } from '../../../lib/format.ts';
import { usageOf } from '../../../lib/session-usage.ts';
import { IsolationMark } from '../../../ui/isolation-mark.tsx';
import { MachineMark } from '../../../ui/machine-mark.tsx';
import type { CardData } from '../api/use-card.ts';
import type { PhaseText } from '../model/card-words.ts';
import css from './row.module.css';

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
export function MachineOfRow({ stage }: { stage: StageView }) {
  const place = useStagePosition(stage);
  if (place === null || stage.completedAt !== null) return null;
  return <MachineMark {...place} className={css.machine} />;
}

/** The number of the stage's open requests. */
export function OpenRequests({ count: open }: { count: number }) {
  const text = count(open, 'open request', 'open requests');
  return (
    <span className={css.badge} role="img" aria-label={text} title={text}>
      {open}
    </span>
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
