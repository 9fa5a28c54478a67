import { type CommandInput, isPaused, type Pause, pauseOver, type StageView } from '@callboard/contract';
import { useQuery } from '@tanstack/react-query';
import { client } from '../lib/api-client.ts';
import { clockTime, count } from '../lib/format.ts';
import { boardQuery } from './queries.ts';
import { useCommand } from './use-command.tsx';

/** Puts stages, a project or everything on hold, or releases them. */
export const putPause = (order: CommandInput<'put_hold'>) => client.command('put_hold', order);

/** @param what what it is about, as the subject of a sentence */
export const usePutPause = (what: string, done?: () => void) =>
  useCommand({
    run: putPause,
    failed: ({ held }) => (held ? `${what}: not put on hold` : `${what}: not released`),
    ...(done && { done }),
  });

/** Whether the stage itself, its project or everything is on hold. */
export function useIsPaused(stage: Pick<StageView, 'id' | 'projectId' | 'held'>): boolean {
  const { data = false } = useQuery({ ...boardQuery, select: (view) => isPaused(stage, view.holds) });
  return data;
}

const DAY = new Intl.DateTimeFormat('en', { day: 'numeric', month: 'short' });

/** The time of day; with the day if that was not today. */
export function sinceTime(iso: string, now = new Date()): string {
  const at = new Date(iso);
  return at.toDateString() === now.toDateString() ? clockTime(iso) : `${DAY.format(at)}, ${clockTime(iso)}`;
}

/** What is on hold, and since when by whom: "Everything has been on hold since 14:02 (by Ada)". */
export const heldSince = (what: string, { by, at }: Pick<Pause, 'by' | 'at'>): string =>
  `${what} has been on hold since ${sinceTime(at)} (by ${by})`;

/** What keeps a stage on hold, in one line; null if nothing does. @param project the name of its project */
export function stagePauseText(stage: StageView, pauses: readonly Pause[], project: string): string | null {
  if (stage.completedAt !== null) return null;
  if (stage.held) return stage.heldBy === null ? 'This stage is on hold' : heldSince('This stage', stage.heldBy);
  const pause = pauseOver(stage, pauses);
  return pause === null ? null : heldSince('projectId' in pause.scope ? project : 'Everything', pause);
}

/** What waits for the release of a stage, as a sentence; null if nothing does. */
export function pausedTurnText({ session }: StageView): string | null {
  if (session === null || !session.withheld) return null;
  const { queued, lastTurn } = session;
  if (lastTurn?.outcome === 'interrupted')
    return 'Its turn was interrupted. When released, Claude continues where it left off.';
  if (queued > 0) return `${count(queued, 'message waits', 'messages wait')}. When released, the first one is sent.`;
  return 'Its turn has ended. When released, the stage continues with its next phase.';
}
