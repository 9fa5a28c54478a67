/** The longest stretch of work that may block the event loop. */
const LONGEST_MS = 4;

/**
 * Makes a function that a long series of short pieces of work awaits between two pieces. It resolves at once, or in the next
 * iteration of the event loop if this one has taken too long. (Awaiting promises alone lets no timer and no I/O run.)
 */
export function createBreath(now: () => number = () => performance.now()): () => Promise<void> {
  /** The time of the first call in this iteration of the loop. */
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

/** The number of items between two readings of the clock. */
const SLICE = 16;

/** Maps each item, in order, without blocking the event loop for long. */
export async function mapInSlices<T, U>(items: readonly T[], map: (item: T) => U): Promise<U[]> {
  const breath = createBreath();
  const mapped: U[] = [];
  for (let from = 0; from < items.length; from += SLICE) {
    await breath();
    for (const item of items.slice(from, from + SLICE)) mapped.push(map(item));
  }
  return mapped;
}
