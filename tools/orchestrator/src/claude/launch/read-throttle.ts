/** How long one reader rests after a read, for each that reads at the same time. */
const REST_MS_EACH = 0.4;
const LONGEST_REST_MS = 200;
/** Shorter rests are no timer's business. */
const SHORTEST_REST_MS = 2;
const WINDOW_MS = 250;
/** So many go on at once; then the loop has its turn. */
const TOGETHER = 8;

/**
 * How often many readers read. One alone goes on at once, in the next round of the loop. With hundreds each rests for a while
 * after a read, so that the next one finds several lines: what a read costs does not depend on how many they are. They go
 * on some at a time, so that what they have read is stored together.
 */
export function createPace(now: () => number = () => performance.now()) {
  let windowStart = now();
  let current = new Set<unknown>();
  let before = 0;
  /** Those who rest until the timer, in the order in which they came. */
  let resting = new Set<() => void>();
  let isTimed = false;

  /** How many readers there are: those of the last whole window. */
  function readers(reader: unknown): number {
    const passed = now() - windowStart;
    if (passed >= WINDOW_MS) {
      before = passed < 2 * WINDOW_MS ? current.size : 0;
      current = new Set();
      windowStart = now();
    }
    current.add(reader);
    return before;
  }

  function goOn(rested: Set<() => void>): void {
    let left = TOGETHER;
    for (const onRested of rested) {
      if (left-- === 0) {
        setImmediate(goOn, rested);
        return;
      }
      rested.delete(onRested);
      onRested();
    }
  }

  function restTogether(restMs: number, onRested: () => void): Set<() => void> {
    resting.add(onRested);
    if (!isTimed) {
      isTimed = true;
      setTimeout(() => {
        const rested = resting;
        resting = new Set();
        isTimed = false;
        goOn(rested);
      }, restMs);
    }
    return resting;
  }

  return {
    /**
     * Calls `onRested` once, when the reader that has just read may read again; returns what ends the rest at once, and does nothing when it
     * is over.
     */
    rest(reader: unknown, onRested: () => void): () => void {
      const restMs = Math.min(LONGEST_REST_MS, readers(reader) * REST_MS_EACH);
      if (restMs < SHORTEST_REST_MS) {
        const round = setImmediate(onRested);
        return () => {
          clearImmediate(round);
          onRested();
        };
      }
      const group = restTogether(restMs, onRested);
      return () => {
        if (group.delete(onRested)) onRested();
      };
    },
  };
}
