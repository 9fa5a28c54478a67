/** Runs work on one thing after another. What works on other things goes on beside it. */
export type KeyedMutex = <T>(key: string, work: () => Promise<T>) => Promise<T>;

/** In the order of the calls; work that fails does not hold up the next. */
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
