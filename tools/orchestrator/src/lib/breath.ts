/** So long a stretch of work may hold up the event loop. */
const LONGEST_MS = 4;

/**
 * What a long line of short work waits for between two pieces: nothing, or the next round of the event loop where this one has gone
 * on for too long. (Work that only waits for promises gives nobody else a turn.)
 */
export function createBreath(now: () => number = () => performance.now()): () => Promise<void> {
  /** When it was first asked in this round of the loop. */
  let since: number | null = null;

  return async function breath(): Promise<void> {
    while (since !== null && now() - since >= LONGEST_MS) await new Promise((resolve) => setImmediate(resolve));
    if (since !== null) return;
    since = now();
    setImmediate(() => {
      since = null;
    });
  };
}

/** As many are done between two looks at the clock. */
const SLICE = 16;

/** What `map` makes of each item, without holding up the event loop for long. */
export async function mapInSlices<T, U>(items: readonly T[], map: (item: T) => U): Promise<U[]> {
  const breath = createBreath();
  const mapped: U[] = [];
  for (let from = 0; from < items.length; from += SLICE) {
    await breath();
    for (const item of items.slice(from, from + SLICE)) mapped.push(map(item));
  }
  return mapped;
}
