/** Does the work for every item, up to `limit` of them at once, in their order. Rejects with the first failure, and then begins no more. */
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
