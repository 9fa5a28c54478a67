/**
 * Runs work on each event and every so often, one run at a time, until it is stopped. A request is only a hint, which may come twice
 * or late: a run reads what there is to do.
 */
export interface Reconciler {
  /** Requests a run: it begins at once, or after the current one. */
  schedule(): void;
  /** Requests a run in this time, unless one is planned sooner. A run that begins earlier replaces it. */
  scheduleIn(ms: number): void;
  /** Resolves when no run is in progress and none is due. */
  drain(): Promise<void>;
  /** Unsubscribes, and begins no further run. Resolves when the current one has ended. */
  stop(): Promise<void>;
}

/** Calls `due` once after this time, and does not keep the process alive for it. Returns a function that cancels the call. */
export type Timer = (due: () => void, inMs: number) => () => void;

export interface ReconcilerOptions {
  /** The longest time from the beginning of one run to the next. Without it, runs must be requested. */
  everyMs?: number | undefined;
  /** Subscribes to events after which something may have to be done. Returns how to unsubscribe. */
  on?: (schedule: () => void) => readonly (() => void)[];
  timer?: Timer | undefined;
}

/** The longest delay of a Node timer. */
const MAX_TIMER_MS = 2_147_483_647;

const nodeTimer: Timer = (due, inMs) => {
  const timer = setTimeout(due, Math.min(inMs, MAX_TIMER_MS)).unref();
  return () => clearTimeout(timer);
};

/**
 * Creates a reconciler, which does not run yet.
 * @param onError gets the error of a failed run; nothing repeats the run but `everyMs`, or the caller
 */
export function createReconciler(
  run: () => Promise<void>,
  onError: (error: unknown) => void,
  { everyMs, on, timer = nodeTimer }: ReconcilerOptions = {},
): Reconciler {
  let isDue = false;
  let isRunning = false;
  let isStopped = false;
  let running: Promise<void> | undefined;
  let planned: { at: number; cancel: () => void } | undefined;

  function schedule(): void {
    isDue = true;
    if (isRunning || isStopped) return;
    isDue = false;
    isRunning = true;
    cancelPlanned();
    if (everyMs !== undefined) scheduleIn(everyMs);
    running = run()
      .catch(onError)
      .finally(() => {
        isRunning = false;
        running = undefined;
        if (isDue) schedule();
      });
  }

  function scheduleIn(ms: number): void {
    const at = performance.now() + ms;
    if (isStopped || (planned !== undefined && planned.at <= at)) return;
    cancelPlanned();
    const cancel = timer(() => {
      planned = undefined;
      schedule();
    }, ms);
    planned = { at, cancel };
  }

  function cancelPlanned(): void {
    planned?.cancel();
    planned = undefined;
  }

  const drain = async () => {
    while (running !== undefined) await running;
  };
  const unsubscribe = on?.(schedule) ?? [];
  if (everyMs !== undefined) scheduleIn(everyMs);
  return {
    schedule,
    scheduleIn,
    drain,
    stop() {
      isStopped = true;
      for (const stop of unsubscribe) stop();
      cancelPlanned();
      return drain();
    },
  };
}
