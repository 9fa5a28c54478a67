/** A reader rests after a read, this long for each reader that is active. */
const REST_MS_EACH = 0.4;
const MAX_REST_MS = 200;
/** A shorter rest is not worth a timer. */
const MIN_REST_MS = 2;
const WINDOW_MS = 250;
/** How many readers resume at once before the event loop gets its turn. */
const BATCH_SIZE = 8;

/**
 * Limits how often many readers read. A single one resumes in the next round of the event loop. With hundreds, each rests
 * after a read, so that its next read finds several lines: a read costs the same, however many lines it returns. Readers
 * resume in groups, so that what they read is stored together.
 */
export function createReadThrottle(now: () => number = () => performance.now()) {
  let windowStart = now();
  let current = new Set<unknown>();
  let lastCount = 0;
  /** The readers that rest until the timer fires, in order of arrival. */
  let resting = new Set<() => void>();
  let isTimed = false;

  /** Notes the reader and returns how many were active in the last complete window. */
  function countWith(reader: unknown): number {
    const elapsed = now() - windowStart;
    if (elapsed >= WINDOW_MS) {
      lastCount = elapsed < 2 * WINDOW_MS ? current.size : 0;
      current = new Set();
      windowStart = now();
    }
    current.add(reader);
    return lastCount;
  }

  function resume(rested: Set<() => void>): void {
    let left = BATCH_SIZE;
    for (const onRested of rested) {
      if (left-- === 0) {
        setImmediate(resume, rested);
        return;
      }
      rested.delete(onRested);
      onRested();
    }
  }

  function pauseGroup(restMs: number, onRested: () => void): Set<() => void> {
    resting.add(onRested);
    if (!isTimed) {
      isTimed = true;
      setTimeout(() => {
        const rested = resting;
        resting = new Set();
        isTimed = false;
        resume(rested);
      }, restMs);
    }
    return resting;
  }

  return {
    /**
     * Calls `onRested` once, when the reader that has just read may read again.
     * @returns a function that ends the rest at once; it does nothing if the rest is over
     */
    rest(reader: unknown, onRested: () => void): () => void {
      const restMs = Math.min(MAX_REST_MS, countWith(reader) * REST_MS_EACH);
      if (restMs < MIN_REST_MS) {
        const round = setImmediate(onRested);
        return () => {
          clearImmediate(round);
          onRested();
        };
      }
      const group = pauseGroup(restMs, onRested);
      return () => {
        if (group.delete(onRested)) onRested();
      };
    },
  };
}
