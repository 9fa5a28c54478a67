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
