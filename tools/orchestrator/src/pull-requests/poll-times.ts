import type { StageId } from '@callboard/contract';

/** What decides when a pull request is asked for again. */
export interface PollFacts {
  /** How often in a row the host could not be asked. */
  failures: number;
  /** How often in a row nothing had changed. */
  unchanged: number;
  /** Whether something is about to happen: checks run, or somebody has just pushed. */
  isAnimated: boolean;
}

const LIVELY = 0.25;
const SLOWEST_QUIET = 5;
const SLOWEST_FAILED = 15;
const QUIET_AFTER = 10;
const JITTER = 0.2;

/**
 * Returns after how many milliseconds to ask again: a quarter of the usual time while something happens, up to five times of it
 * when nothing does, up to fifteen times when the host cannot be asked; always a little earlier or later, so that many
 * stages do not ask at once.
 * @param usualMs the usual time
 * @param random from 0 to 1
 */
export function pollDelayMs({ failures, unchanged, isAnimated }: PollFacts, usualMs: number, random: number): number {
  const quiet = Math.min(SLOWEST_QUIET, 2 ** Math.max(0, Math.floor(unchanged / QUIET_AFTER)));
  const factor = failures > 0 ? Math.min(SLOWEST_FAILED, 2 ** (failures - 1)) : isAnimated ? LIVELY : quiet;
  return Math.round(usualMs * factor * (1 + JITTER * (2 * random - 1)));
}

interface Polled extends Omit<PollFacts, 'isAnimated'> {
  /** On the monotonic clock, as all instants here. */
  dueAt: number;
  animatedUntil: number;
  /** What was last seen: something else means that something happened. */
  seen: string;
}

/** When each stage's pull request is to be asked for. Asks nothing itself. */
export interface PollTimes {
  /** Notes that a stage has an open pull request, and what is known of it. A new one is due at once. */
  see(stageId: StageId, seen: string): void;
  forget(stageId: StageId): void;
  /** Returns the stages that are due. Each is due again only once `asked` was called for it. */
  takeDue(): StageId[];
  asked(stageId: StageId, checked: 'changed' | 'same' | 'failed'): void;
  /** Returns the milliseconds until one is due; null if there is none. */
  untilNextMs(): number | null;
}

/** How long after something happened more is expected. */
const LIVELY_MS = 10 * 60_000;

export function createPollTimes(
  { uptimeMs, usualMs }: { uptimeMs: () => number; usualMs: number },
  random: () => number = Math.random,
): PollTimes {
  const polled = new Map<StageId, Polled>();
  return {
    see(stageId, seen) {
      const now = uptimeMs();
      const known = polled.get(stageId);
      const animatedUntil = now + LIVELY_MS;
      if (known === undefined) polled.set(stageId, { dueAt: now, failures: 0, unchanged: 0, animatedUntil, seen });
      else if (known.seen !== seen) Object.assign(known, { seen, animatedUntil, unchanged: 0 });
    },
    forget: (stageId) => void polled.delete(stageId),
    takeDue() {
      const due = [...polled].filter(([, { dueAt }]) => dueAt <= uptimeMs());
      for (const [, one] of due) one.dueAt = Number.POSITIVE_INFINITY;
      return due.map(([stageId]) => stageId);
    },
    asked(stageId, checked) {
      const one = polled.get(stageId);
      if (one === undefined) return;
      one.failures = checked === 'failed' ? one.failures + 1 : 0;
      one.unchanged = checked === 'same' ? one.unchanged + 1 : 0;
      const now = uptimeMs();
      one.dueAt = now + pollDelayMs({ ...one, isAnimated: now < one.animatedUntil }, usualMs, random());
    },
    untilNextMs() {
      const next = Math.min(...[...polled.values()].map(({ dueAt }) => dueAt));
      return Number.isFinite(next) ? Math.max(0, next - uptimeMs()) : null;
    },
  };
}
