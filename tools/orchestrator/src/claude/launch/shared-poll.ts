/** Polls many subjects in turn, with one timer for all. */
export interface SharedPoll {
  /**
   * Calls `check` in each round, from the next one on. `check` returns whether it had anything to do.
   * @returns a function that removes it
   */
  add(check: () => boolean): () => void;
  /** There may be something to do: ends a rest. */
  wake(): void;
}

export interface SharedPollOptions {
  everyMs: number;
  /** The delay after a round in which no check had anything to do. Defaults to `everyMs`. */
  restMs?: number;
  /** At most this many checks with something to do run in one round; the others take their turn later. Defaults to all. */
  maxPerRound?: number;
}

export function createSharedPoll({
  everyMs,
  restMs = everyMs,
  maxPerRound = Number.POSITIVE_INFINITY,
}: SharedPollOptions): SharedPoll {
  /** In the order of their turns. */
  const checks = new Set<() => boolean>();
  let timer: NodeJS.Timeout | undefined;
  let isResting = false;

  function round(): void {
    let done = 0;
    for (const check of [...checks]) {
      if (done === maxPerRound) break;
      if (!checks.has(check) || !check()) continue;
      done++;
      if (checks.delete(check)) checks.add(check); // behind the others
    }
    isResting = done === 0;
    clearTimeout(timer);
    timer = checks.size === 0 ? undefined : setTimeout(round, isResting ? restMs : everyMs).unref();
  }

  function wake(): void {
    if (!isResting) return;
    isResting = false;
    clearTimeout(timer);
    timer = setTimeout(round, 0).unref();
  }

  return {
    add(check) {
      checks.add(check);
      if (timer === undefined) timer = setTimeout(round, everyMs).unref();
      else wake();
      return () => {
        checks.delete(check);
        if (checks.size > 0) return;
        clearTimeout(timer);
        timer = undefined;
        isResting = false;
      };
    },
    wake,
  };
}
