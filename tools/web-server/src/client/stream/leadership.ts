import { untilAborted } from '@callboard/runtime/waits';

const LOCK = 'callboard-event-stream-2';

export interface Leadership {
  /** Takes over from a leader that does not answer. */
  takeOver(): void;
  /** Gives up leadership for good. */
  leave(): void;
}

/**
 * Makes exactly one tab of the browser the leader; when it closes, another takes over. `lead` is called when this tab
 * becomes the leader, and the function it returns when the tab stops leading.
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
      // Another tab took the lock, or this one leaves.
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
