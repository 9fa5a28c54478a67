/**
 * Runs passes of `work`, one at a time. `nudge` is a hint that may come twice, late or never. A wake-up during a pass is not
 * lost: another pass follows.
 */
export interface CoalescingWorker {
  schedule(): void;
  /** Resolves when no pass is running and none is due. */
  drain(): Promise<void>;
  /** Starts no further pass. Resolves when the running one has ended. */
  stop(): Promise<void>;
}

/** @param onError gets the error of a failed pass; the next nudge retries */
export function createCoalescingWorker(work: () => Promise<void>, onError: (error: unknown) => void): CoalescingWorker {
  let due = false;
  let stopped = false;
  let pass: Promise<void> | undefined;
  function schedule(): void {
    due = true;
    if (pass !== undefined || stopped) return;
    due = false;
    pass = work()
      .catch(onError)
      .finally(() => {
        pass = undefined;
        if (due) schedule();
      });
  }
  const drain = async () => {
    while (pass !== undefined) await pass;
  };
  return {
    schedule,
    drain,
    stop: () => {
      stopped = true;
      return drain();
    },
  };
}
