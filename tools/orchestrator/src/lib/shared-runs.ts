/**
 * Lets calls share runs of `work`. Whoever calls while one is running shares the next with all others who do, since what
 * is running may have looked already at what has changed since. So every call gets a run that began after it.
 */
export function shareRuns<T>(work: () => Promise<T>): () => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  let next: Promise<T> | undefined;
  return () => {
    if (next !== undefined) return next;
    const run = last.then(() => {
      next = undefined; // from here on it may miss something
      return work();
    });
    next = run;
    last = run.catch(() => undefined);
    return run;
  };
}
