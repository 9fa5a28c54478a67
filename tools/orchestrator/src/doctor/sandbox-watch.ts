import { setTimeout as sleep } from 'node:timers/promises';
import { SANDBOX_UNTRIED, type SandboxSupport } from '@callboard/contract';
import { createEmitter } from '@callboard/runtime/emitter';
import type { checkSandbox } from '../core/claude/sandbox.ts';
import type { Logger } from '../platform/runtime.ts';

export interface SandboxWatchDeps {
  log: Logger;
  /** `checkSandbox` with the environment that `claude` gets. */
  attempt: (signal: AbortSignal) => ReturnType<typeof checkSandbox>;
  /** Delays the first check, so that everything else can start. */
  delayMs?: number;
}

/** Knows whether Claude Code's sandbox works on this machine. */
export interface SandboxWatch {
  /** The result of the last check. */
  support(): SandboxSupport;
  /**
   * The result for a launch: waits for a running check, and checks again after a failure. `isRefused`: Claude Code itself
   * has reported that the sandbox does not work. Never rejects.
   */
  forLaunch(): Promise<SandboxSupport & { isRefused: boolean }>;
  /** Claude Code itself reports that the sandbox does not work. This counts until a restart, whatever a check finds. */
  refused(why: string): void;
  /** Calls the listener when the result has changed. Returns a function that removes it. */
  onChange(listener: () => void): () => void;
  /** Starts the first check in the background. */
  begin(): void;
  /** Ends a running check; resolves when nothing of it is left. */
  stop(): Promise<void>;
}

export function createSandboxWatch({ log, attempt, delayMs = 1_000 }: SandboxWatchDeps): SandboxWatch {
  const stopping = new AbortController();
  const changed = createEmitter();
  let known = SANDBOX_UNTRIED;
  let running: Promise<SandboxSupport> | null = null;
  let isRefused = false;

  function save(found: SandboxSupport): SandboxSupport {
    const isNew = found.state !== known.state || found.why !== known.why;
    known = found;
    if (isNew) changed.emit();
    return found;
  }

  /** Concurrent launches share one check. */
  function check(): Promise<SandboxSupport> {
    running ??= attempt(stopping.signal)
      .then((found) => {
        if (stopping.signal.aborted || isRefused) return known;
        log.info({ sandbox: found }, 'sandbox checked');
        return save(found);
      })
      .finally(() => {
        running = null;
      });
    return running;
  }

  return {
    support: () => known,
    async forLaunch() {
      const found = running !== null || (known.state !== 'works' && !isRefused) ? await check() : known;
      return { ...found, isRefused };
    },
    refused(why) {
      isRefused = true;
      save({ state: 'fails', why, how: 'Run `callboard doctor`, then restart Callboard.' });
    },
    onChange: changed.subscribe,
    begin() {
      sleep(delayMs, undefined, { signal: stopping.signal, ref: false }).then(
        () => (known === SANDBOX_UNTRIED ? check() : known), // a launch may have checked it meanwhile
        () => undefined, // stopped
      );
    },
    async stop() {
      stopping.abort(new Error('stopped'));
      await running;
    },
  };
}
