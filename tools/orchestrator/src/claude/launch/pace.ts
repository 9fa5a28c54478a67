/** How long one reader rests after a read, for each that reads at the same time. */
const REST_MS_EACH = 0.25;
const LONGEST_REST_MS = 150;
/** Shorter rests are no timer's business. */
const SHORTEST_REST_MS = 2;
const WINDOW_MS = 250;

/**
 * How often many readers read. One alone goes on at once, in the next round of the loop. With hundreds each rests for a while
 * after a read, so that the next one finds several lines: what a read costs does not depend on how many they are.
 */
export function createPace(now: () => number = () => performance.now()) {
  let windowStart = now();
  let current = new Set<unknown>();
  let before = 0;

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

  return {
    /** Calls `onRested` once, when the reader that has just read may read again; returns what ends the rest at once. */
    rest(reader: unknown, onRested: () => void): () => void {
      const restMs = Math.min(LONGEST_REST_MS, readers(reader) * REST_MS_EACH);
      if (restMs < SHORTEST_REST_MS) {
        const round = setImmediate(onRested);
        return () => {
          clearImmediate(round);
          onRested();
        };
      }
      const timer = setTimeout(onRested, restMs);
      return () => {
        clearTimeout(timer);
        onRested();
      };
    },
  };
}
