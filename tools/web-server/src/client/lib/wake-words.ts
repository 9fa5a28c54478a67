import type { SessionSummary, WakeUp } from '@callboard/contract';
import { comingTime, isAhead } from './limit-text.ts';

type Sleeper = Pick<SessionSummary, 'wakeUps' | 'launchId'>;

/** Returns what Claude will come back to by itself, the next one first. Without a process, nothing wakes it. */
export function comingWakeUps({ wakeUps, launchId }: Sleeper): WakeUp[] {
  if (launchId === null) return [];
  const coming = wakeUps.filter(({ at }) => at === null || isAhead(at));
  return coming.toSorted((a, b) => (a.at ?? '9').localeCompare(b.at ?? '9'));
}

/** When Claude wakes: "Wakes at 14:05". */
export const wakeTime = ({ at }: WakeUp): string => (at === null ? 'Wakes repeatedly' : `Wakes at ${comingTime(at)}`);

/** When Claude wakes next; empty if it has planned nothing. */
export function wakeText(session: Sleeper | null): string {
  const [next] = session === null ? [] : comingWakeUps(session);
  return next === undefined ? '' : wakeTime(next);
}
