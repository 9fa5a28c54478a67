/** The longest stretch of work that may block the event loop. */
const MAX_MS_LENGTH = 4;

/**
 * Makes a function that a long series of short pieces of work awaits between two pieces. It resolves at once, or in the next
 * iteration of the event loop if this one has taken too long. (Awaiting promises alone lets no timer and no I/O run.)
 */
export function createYield(now: () => number = () => performance.now()): () => Promise<void> {
  /** The time of the first call in this iteration of the loop. */
  let since: number | null = null;

  return async function yieldToEventLoop(): Promise<void> {
    while (since !== null && now() - since >= MAX_MS_LENGTH) await new Promise((resolve) => setImmediate(resolve));
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
