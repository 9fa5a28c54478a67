import { type BackoffLimits, createBackoff } from '@callboard/runtime/waits';

/** Polls many subjects in turn, with one timer for all. */
export interface SharedPoll {
  /**
   * Calls `check` in each round, from the next one on. `check` returns whether it had anything to do.
   * @returns a function that removes it
   */
  add(check: () => boolean): () => void;
  /** There may be something to do: ends a rest. */
  wake(): void;
}

export interface SharedPollOptions {
  everyMs: number;
  /** The delay after a round in which no check had anything to do. Defaults to `everyMs`. */
  restMs?: number;
  /** At most this many checks with something to do run in one round; the others take their turn later. Defaults to all. */
  maxPerRound?: number;
}

export function createSharedPoll({
  everyMs,
  restMs = everyMs,
  maxPerRound = Number.POSITIVE_INFINITY,
}: SharedPollOptions): SharedPoll {
  /** In the order of their turns. */
  const checks = new Set<() => boolean>();
  let timer: NodeJS.Timeout | undefined;
  let isResting = false;

  function round(): void {
    let done = 0;
    for (const check of [...checks]) {
      if (done === maxPerRound) break;
      if (!checks.has(check) || !check()) continue;
      done++;
      if (checks.delete(check)) checks.add(check); // behind the others
    }
    isResting = done === 0;
    clearTimeout(timer);
    timer = checks.size === 0 ? undefined : setTimeout(round, isResting ? restMs : everyMs).unref();
  }

  function wake(): void {
    if (!isResting) return;
    isResting = false;
    clearTimeout(timer);
    timer = setTimeout(round, 0).unref();
  }

  return {
    add(check) {
      checks.add(check);
      if (timer === undefined) timer = setTimeout(round, everyMs).unref();
      else wake();
      return () => {
        checks.delete(check);
        if (checks.size > 0) return;
        clearTimeout(timer);
        timer = undefined;
        isResting = false;
      };
    },
    wake,
  };
}

/**
 * Runs `work` for every item, in order and for at most `limit` items at once. After the first failure it starts no more and
 * rejects with that failure.
 */
export async function forEachAtOnce<T>(
  items: Iterable<T>,
  limit: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const rest = items[Symbol.iterator]();
  let failed = false;
  async function workThrough(): Promise<void> {
    for (let { value, done } = rest.next(); !done && !failed; { value, done } = rest.next()) {
      await work(value).catch((error: unknown) => {
        failed = true;
        throw error;
      });
    }
  }
  await Promise.all(Array.from({ length: limit }, workThrough));
}

/** The longest stretch of work that may block the event loop. */
const MAX_BLOCK_MS = 4;

/**
 * Makes a function that a long series of short pieces of work awaits between two pieces. It resolves at once, or in the next
 * iteration of the event loop if this one has taken too long. (Awaiting promises alone lets no timer and no I/O run.)
 */
export function createYield(now: () => number = () => performance.now()): () => Promise<void> {
  /** The time of the first call in this iteration of the loop. */
  let since: number | null = null;

  return async function yieldToEventLoop(): Promise<void> {
    while (since !== null && now() - since >= MAX_BLOCK_MS) await new Promise((resolve) => setImmediate(resolve));
    if (since !== null) return;
    since = now();
    setImmediate(() => {
      since = null;
    });
  };
}

/** The number of items between two readings of the clock. */
const SLICE = 16;

/** Maps each item, in order, without blocking the event loop for long. */
export async function mapInSlices<T, U>(items: readonly T[], map: (item: T) => U): Promise<U[]> {
  const yieldToEventLoop = createYield();
  const mapped: U[] = [];
  for (let from = 0; from < items.length; from += SLICE) {
    await yieldToEventLoop();
    for (const item of items.slice(from, from + SLICE)) mapped.push(map(item));
  }
  return mapped;
}

/** Runs work with the same key one after another. Work with other keys runs concurrently. */
export type KeyedMutex = <T>(key: string, work: () => Promise<T>) => Promise<T>;

/** Creates a mutex that runs work in the order of the calls. Work that fails does not block the next. */
export function createKeyedMutex(): KeyedMutex {
  const last = new Map<string, Promise<unknown>>();
  return (key, work) => {
    const result = (last.get(key) ?? Promise.resolve()).then(work);
    const done = result.then(forget, forget);
    last.set(key, done);
    return result;

    function forget(): void {
      if (last.get(key) === done) last.delete(key);
    }
  };
}

/**
 * Has things tried again that could not be done, at growing intervals. Attempts that are made for other reasons in between do not
 * make them grow: else a busy hour would put off the next one until long after it.
 */
export interface RetryTimer<T> {
  /** Call it after each attempt. @param left what could not be done; something new in it begins with the first interval again */
  attempted(left: ReadonlySet<T>): void;
  stop(): void;
}

/** @param retry makes an attempt, after which `attempted` is called */
export function createRetryTimer<T>(retry: () => void, limits: BackoffLimits): RetryTimer<T> {
  const backoff = createBackoff(limits);
  let before: ReadonlySet<T> = new Set();
  let pauseMs = backoff.next();
  let timer: NodeJS.Timeout | undefined;
  let isRetry = false;
  return {
    attempted(left) {
      clearTimeout(timer);
      const isAnyNew = !left.isSubsetOf(before);
      if (isAnyNew) backoff.reset();
      if (isAnyNew || isRetry) pauseMs = backoff.next();
      before = left;
      isRetry = false;
      if (left.size === 0) return;
      timer = setTimeout(() => {
        isRetry = true;
        retry();
      }, pauseMs).unref();
    },
    stop: () => clearTimeout(timer),
  };
}

/**
 * Lets calls share runs of `work`. All calls during a run share the next one, because the current run may have read its
 * data before the latest change. So every call gets the result of a run that started after it.
 */
export function shareRuns<T>(work: () => Promise<T>): () => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  let next: Promise<T> | undefined;
  return () => {
    if (next !== undefined) return next;
    const run = last.then(() => {
      next = undefined; // a change from here on may be missed by this run
      return work();
    });
    next = run;
    last = run.catch(() => undefined);
    return run;
  };
}
