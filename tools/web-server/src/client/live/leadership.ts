const LOCK = 'callboard-event-stream-2';

export interface Leadership {
  /** Takes over from a leader that does not answer. */
  takeOver(): void;
  leave(): void;
}

/**
 * Exactly one tab of the browser leads; when it closes, another one does. `lead` is called when this tab becomes the
 * leader, and what it returns when it no longer is.
 */
export function seekLeadership(lead: () => () => void, locks: LockManager = navigator.locks): Leadership {
  const left = new AbortController();
  let leading = false;

  async function seek(options: LockOptions): Promise<void> {
    let stopLeading: (() => void) | undefined;
    try {
      await locks.request(LOCK, options, async () => {
        leading = true;
        stopLeading = lead();
        await untilAborted(left.signal);
      });
    } catch {
      // The lock was taken over by another tab, or this one leaves.
    }
    leading = false;
    stopLeading?.();
    if (!left.signal.aborted) void seek({ signal: left.signal });
  }

  void seek({ signal: left.signal });
  return {
    takeOver() {
      if (!leading) void seek({ steal: true });
    },
    leave: () => left.abort(),
  };
}

const untilAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
