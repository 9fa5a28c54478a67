import { type LimitsView, limitState, type StageView } from '@callboard/contract';
import { clockTime } from './format.ts';

const WINDOWS: Readonly<Record<string, string>> = {
  five_hour: '5-hour limit',
  seven_day: 'Weekly limit',
  seven_day_opus: 'Weekly limit of Opus',
  seven_day_sonnet: 'Weekly limit of Sonnet',
};

/** The name of a usage limit, for people. */
export const windowLabel = (name: string | null): string => WINDOWS[name ?? ''] ?? 'Usage limit';

const DAY = new Intl.DateTimeFormat('en', { weekday: 'short' });

/** The time of day of something to come; with the weekday if that is not today. */
export function comingTime(iso: string, now = new Date()): string {
  const at = new Date(iso);
  return at.toDateString() === now.toDateString() ? clockTime(iso) : `${DAY.format(at)} ${clockTime(iso)}`;
}

/** Whether an instant is still to come. */
export const isAhead = (iso: string): boolean => Date.parse(iso) > Date.now();

/** How a stage that stopped at a usage limit goes on, in one line; null for any other. */
export function limitWaitText({ session, completedAt }: Pick<StageView, 'session' | 'completedAt'>): string | null {
  const wait = session?.limitWait ?? null;
  if (wait === null || completedAt !== null) return null;
  if (wait.goesOnAt !== null)
    return isAhead(wait.goesOnAt)
      ? `Usage limit: continues at ${comingTime(wait.goesOnAt)}`
      : 'Usage limit has reset: continues when a slot is free';
  if (wait.resetsAt === null) return 'Usage limit reached';
  return isAhead(wait.resetsAt) ? `Usage limit until ${comingTime(wait.resetsAt)}` : 'Usage limit has reset';
}

/** That Claude's review waits for a usage limit. */
export const reviewWaits = (resumesAt: string): string =>
  isAhead(resumesAt) ? `Review at ${comingTime(resumesAt)}: usage limit` : 'Review continues when a slot is free';

/** A used share: "93 %". */
export const formatShare = (utilization: number): string => `${Math.round(utilization * 100)} %`;

/** From which used share on a limit is said to be near, if it holds no starts. */
const USUAL_NEAR = 0.9;

/** What the account's limits mean at the moment, in one line, and in a few words; null while all is well. */
export function limitLine({ limits, settings }: LimitsView, now: Date): { text: string; short: string } | null {
  const { holdStartsAt } = settings;
  const { state, window, utilization, resetsAt } = limitState(limits, holdStartsAt ?? USUAL_NEAR, now.toISOString());
  if (state === 'allowed') return null;
  const name = windowLabel(window);
  const until = resetsAt === null ? '' : `, resets ${comingTime(resetsAt, now)}`;
  if (state === 'reached') {
    const short = resetsAt === null ? 'Usage limit reached' : `Usage limit until ${comingTime(resetsAt, now)}`;
    return { text: `${name} reached${until}.`, short };
  }
  const share = utilization === null ? 'nearly used up' : `at ${formatShare(utilization)}`;
  const pauses = holdStartsAt === null ? '' : '. Automatic starts wait';
  return { text: `${name} ${share}${until}${pauses}.`, short: `Usage limit ${share}` };
}
