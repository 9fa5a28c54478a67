import { comingWakeUps, type SessionSummary, type WakeUp } from '@callboard/contract';
import { comingTime } from './limit-text.ts';

/** When Claude wakes: "Wakes at 14:05". */
export const wakeTime = ({ at }: WakeUp): string => (at === null ? 'Wakes repeatedly' : `Wakes at ${comingTime(at)}`);

/** When Claude wakes next; empty if it has planned nothing. */
export function wakeText(session: Pick<SessionSummary, 'wakeUps' | 'launchId'> | null): string {
  const [next] = session === null ? [] : comingWakeUps(session, new Date());
  return next === undefined ? '' : wakeTime(next);
}
