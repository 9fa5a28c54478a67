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
