/** Every wait of the tests goes through this file: it fails within 15 seconds and says what it waited for and what it saw last. */
import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';

/** How long a wait lasts at most. A step that takes longer on a busy machine names its own limit, with the reason. */
export const WAIT_MS = 15_000;

/** How long after the first look it is looked again. The pause grows to the longest one: most looks ask a process or the disk. */
const FIRST_PAUSE_MS = 5;
const MAX_PAUSE_MS = 50;
const SHOWN_CHARACTERS = 1_000;

interface WaitOptions {
  /** How long to wait at most; the caller says why it is more than `WAIT_MS`. */
  withinMs?: number;
  /** How often to check, if not less and less often. */
  everyMs?: number;
  /** What the error shows as last seen. */
  lastSeen?: () => unknown;
}

/**
 * Resolves once `look` returns true, for conditions that no event announces.
 * @param what completes the sentence "timed out waiting until ..."
 * @throws {Error} what `look` throws; or an error if the condition did not come true in time
 */
export async function until(
  what: string,
  check: () => boolean | Promise<boolean>,
  options: WaitOptions = {},
): Promise<void> {
  await poll(`until ${what}`, async () => ((await check()) ? { value: undefined } : null), options);
}

/**
 * Resolves with what `attempt` returns, once it does not throw.
 * @throws {Error} if it still threw when the time was up, with what it threw last
 */
export function eventually<T>(attempt: () => T | Promise<T>, options: Pick<WaitOptions, 'withinMs'> = {}): Promise<T> {
  let failure: unknown;
  const check = async () => {
    try {
      return { value: await attempt() };
    } catch (error) {
      failure = error;
      return null;
    }
  };
  return poll('until an attempt succeeds', check, { ...options, lastSeen: () => failure });
}

/**
 * Resolves with what `promise` resolves with.
 * @param what completes the sentence "timed out waiting for ..."
 * @throws {Error} what `promise` rejects with; or an error if it was still pending when the time was up
 */
export function waitFor<T>(what: string, promise: Promise<T>, options: WaitOptions = {}): Promise<T> {
  return limited(`for ${what}`, promise, options);
}

async function poll<T>(what: string, check: () => Promise<{ value: T } | null>, options: WaitOptions): Promise<T> {
  let isOver = false;
  const loop = async (): Promise<T> => {
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 1.5, MAX_PAUSE_MS)) {
      const found = await check();
      if (found !== null) return found.value;
      if (isOver) throw new Error(`gave up waiting ${what}`);
      await sleep(options.everyMs ?? pause);
    }
  };
  try {
    return await limited(what, loop(), options);
  } finally {
    isOver = true;
  }
}

async function limited<T>(
  what: string,
  promise: Promise<T>,
  { withinMs = WAIT_MS, lastSeen }: WaitOptions,
): Promise<T> {
  const done = new AbortController();
  const timeUp = async (): Promise<never> => {
    await sleep(withinMs, undefined, { signal: done.signal });
    const seen = lastSeen === undefined ? '' : `; last seen: ${shown(lastSeen())}`;
    throw new Error(`timed out after ${withinMs / 1_000} s waiting ${what}${seen}`);
  };
  const late = timeUp();
  late.catch(() => undefined); // aborted, or thrown by the race
  promise.catch(() => undefined); // it may fail after the time is up
  try {
    return await Promise.race([promise, late]);
  } finally {
    done.abort();
  }
}

function shown(seen: unknown): string {
  const text = seen instanceof Error ? String(seen) : typeof seen === 'string' ? seen : inspect(seen, { depth: 4 });
  return text.length > SHOWN_CHARACTERS ? `... ${text.slice(-SHOWN_CHARACTERS)}` : text;
}
