import type { BoardView, Column, SessionNow, StageId } from '@callboard/contract';
import { ActionIcon } from '@mantine/core';
import { IconLayoutColumns, IconMaximize } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { Link } from 'react-router';
import { boardQuery } from '../../data/queries.ts';
import { clockTime, count } from '../../lib/format.ts';
import { useNow } from '../../lib/hooks.ts';
import { useSessionNow, useStreamState } from '../../stream/stream-context.tsx';
import { Hint } from '../../ui/primitives.tsx';
import { activityText, type CardData, useCard } from './cards.ts';
import { columnStages } from './columns.ts';
import css from './wall.module.css';

/** Who calls comes first; what waits to be started has no place on a wall. */
const SHOWN: readonly Column[] = ['needs-you', 'running', 'review'];
/** As many rows as a screen has room for, in letters that are read from four metres (wall.module.css). */
const MAX_ROWS = 11;

/** A screen for everybody in the room: who calls, what each stage does, and for how many minutes. */
export default function Wall() {
  const { data: rows } = useQuery({ ...boardQuery, select: rowsOf });
  const isOld = useStreamState(
    ({ connection, orchestrator, isStalled }) => connection === 'lost' || orchestrator === 'unreachable' || isStalled,
  );
  useScreenStaysOn();
  if (rows === undefined) return null;
  const { calling, running, toReview, stages } = rows;
  const others = [running > 0 && `${running} running`, toReview > 0 && `${toReview} to review`].filter(Boolean);
  const hidden = stages.length - MAX_ROWS;
  const calls = calling === 0 ? 'Nothing needs you' : count(calling, 'stage needs you', 'stages need you');
  return (
    <div className={css.wall} data-old={isOld || undefined}>
      <header className={css.head}>
        <h1 data-tone={isOld ? 'fail' : calling > 0 ? 'needs' : undefined}>
          {isOld ? 'No connection: this is old' : calls}
        </h1>
        <p>{others.join(', ')}</p>
        <Now />
        <ActionIcon variant="subtle" color="gray" aria-label="Full screen" onClick={() => void showFullScreen()}>
          <IconMaximize size={20} />
        </ActionIcon>
        <ActionIcon variant="subtle" color="gray" component={Link} to="/" aria-label="Board">
          <IconLayoutColumns size={20} />
        </ActionIcon>
      </header>
      <ol className={css.rows} aria-label="Stages">
        {stages.slice(0, MAX_ROWS).map((stageId) => (
          <WallRow key={stageId} stageId={stageId} />
        ))}
      </ol>
      {stages.length === 0 && <Hint fz="inherit">No stage is running.</Hint>}
      {hidden > 0 && <Hint fz="inherit">and {count(hidden, 'more stage')}</Hint>}
    </div>
  );
}

function rowsOf(view: BoardView) {
  const [calling = [], running = [], toReview = []] = SHOWN.map((column) => columnStages(view, column));
  const counts = { calling: calling.length, running: running.length, toReview: toReview.length };
  return { ...counts, stages: [...calling, ...running, ...toReview] };
}

function WallRow({ stageId }: { stageId: StageId }) {
  const card = useCard(stageId);
  const now = useSessionNow(card?.stage.session ?? null);
  if (card === undefined) return null;
  const { title, column, session, createdAt } = card.stage;
  const { text, tone } = wallText(card, column === 'running' ? now : null);
  // A changed text is a new element, which turns over once.
  return (
    <li className={css.row} data-column={column}>
      <Link to={`/stages/${stageId}`} className={css.title}>
        {title}
      </Link>
      <span key={text} className={css.does} data-tone={tone}>
        {text}
      </span>
      <Minutes since={card.needsSince ?? session?.stateSince ?? createdAt} />
    </li>
  );
}

/** What a stage does or asks, in words that stay the same for as long as it does. */
function wallText({ stage, text, paused }: CardData, now: SessionNow | null): { text: string; tone: string } {
  if (now !== null) return { text: nowText(now), tone: 'plain' };
  if (text.asked !== undefined) {
    const { kind } = text.asked;
    const asks = kind === 'question' ? 'asks' : 'asks:';
    return { text: kind === 'plan' ? 'has a plan to review' : `${asks} ${text.text}`, tone: 'needs' };
  }
  const changes = stage.session?.changes;
  if (stage.column === 'review' && changes != null && changes.files > 0)
    return { text: `changed ${count(changes.files, 'file')}`, tone: 'plain' };
  if (text.text !== '') return text;
  return { text: paused ? 'on hold' : stage.column === 'review' ? 'finished' : 'working', tone: 'plain' };
}

function nowText(now: SessionNow): string {
  const { kind, text } = activityText(now);
  if (kind === 'text') return 'writing';
  return kind === 'command' ? `runs ${text}` : text;
}

const MINUTE_MS = 60_000;

/** Whole minutes, then hours: nothing on the wall moves for the sake of seconds. */
function Minutes({ since }: { since: string }) {
  const minutes = Math.max(0, Math.floor((useNow() - Date.parse(since)) / MINUTE_MS));
  const hours = Math.floor(minutes / 60);
  return (
    <time className={css.since} dateTime={since}>
      {minutes === 0 ? 'now' : hours === 0 ? `${minutes} min` : `${hours} h ${minutes % 60}`}
    </time>
  );
}

function Now() {
  const now = new Date(useNow()).toISOString();
  return <time dateTime={now}>{clockTime(now)}</time>;
}

/** Asks the browser not to switch the screen off while the page is seen. Without a means for it, nothing happens. */
function useScreenStaysOn(): void {
  useEffect(() => {
    let lock: Promise<WakeLockSentinel | null> | null = null;
    const ask = () => {
      if (document.visibilityState === 'visible')
        lock = navigator.wakeLock?.request('screen').catch(() => null) ?? null;
    };
    ask();
    document.addEventListener('visibilitychange', ask); // a hidden page loses it
    return () => {
      document.removeEventListener('visibilitychange', ask);
      void lock?.then((sentinel) => sentinel?.release());
    };
  }, []);
}

/** A browser may refuse; the page then stays as it is. */
const showFullScreen = () => document.documentElement.requestFullscreen?.().catch(() => undefined);
