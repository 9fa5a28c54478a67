/**
 * Lets calls share runs of `work`. All calls during a run share the next one, because the current run may have read its
 * data before the latest change. So every call gets the result of a run that started after it.
 */
export function shareRuns<T>(work: () => Promise<T>): () => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  let next: Promise<T> | undefined;
  return () => {
    if (next !== undefined) return next;
    const run = last.then(() => {
      next = undefined; // a change from here on may be missed by this run
      return work();
    });
    next = run;
    last = run.catch(() => undefined);
    return run;
  };
}
