/**
 * Runs passes of `work`, one at a time. `nudge` is a hint that may come twice, late or never; one that comes during a
 * pass is not lost: another pass follows.
 */
export interface NudgedWorker {
  nudge(): void;
  /** Resolves when no pass runs and none is due. */
  drain(): Promise<void>;
  /** No pass starts any more; resolves when the running one has ended. */
  stop(): Promise<void>;
}

/** @param onError gets what a pass threw; the next nudge tries again. */
export function createNudgedWorker(work: () => Promise<void>, onError: (error: unknown) => void): NudgedWorker {
  let due = false;
  let stopped = false;
  let pass: Promise<void> | undefined;
  function nudge(): void {
    due = true;
    if (pass !== undefined || stopped) return;
    due = false;
    pass = work()
      .catch(onError)
      .finally(() => {
        pass = undefined;
        if (due) nudge();
      });
  }
  const drain = async () => {
    while (pass !== undefined) await pass;
  };
  return {
    nudge,
    drain,
    stop: () => {
      stopped = true;
      return drain();
    },
  };
}
