import { setTimeout as sleep } from 'node:timers/promises';
import { SANDBOX_UNTRIED, type SandboxSupport } from '@callboard/contract';
import type { checkSandbox } from '../claude/sandbox/sandbox-check.ts';
import type { Logger } from '../lib/logger.ts';

export interface SandboxWatchParts {
  log: Logger;
  /** `checkSandbox` with the environment that `claude` is given. */
  attempt: (signal: AbortSignal) => ReturnType<typeof checkSandbox>;
  /** How long the first trial lets everything else get started. */
  delayMs?: number;
}

/** Knows whether Claude Code's sandbox works on this machine. */
export interface SandboxWatch {
  /** What is known now. */
  support(): SandboxSupport;
  /**
   * What a launch goes by: waits for a trial that runs, and tries again what has failed before. `isRefused`: Claude Code itself has
   * said that it cannot. Never rejects.
   */
  forLaunch(): Promise<SandboxSupport & { isRefused: boolean }>;
  /** Claude Code itself says that it cannot: that counts until a restart, whatever a trial says. */
  refused(why: string): void;
  /** Called when what is known has changed. Returns how to stop listening. */
  onChange(listener: () => void): () => void;
  /** Begins the first trial, in the background. */
  begin(): void;
  /** Ends a trial that runs; resolves when nothing of it is left. */
  stop(): Promise<void>;
}

export function createSandboxWatch({ log, attempt, delayMs = 1_000 }: SandboxWatchParts): SandboxWatch {
  const stopping = new AbortController();
  const listeners = new Set<() => void>();
  let known = SANDBOX_UNTRIED;
  let running: Promise<SandboxSupport> | null = null;
  let isRefused = false;

  function keep(found: SandboxSupport): SandboxSupport {
    const isNew = found.state !== known.state || found.why !== known.why;
    known = found;
    if (isNew) for (const listener of listeners) listener();
    return found;
  }

  /** Launches at the same time try it once. */
  function again(): Promise<SandboxSupport> {
    running ??= attempt(stopping.signal)
      .then((found) => {
        if (stopping.signal.aborted || isRefused) return known;
        log.info({ sandbox: found }, 'the sandbox was tried');
        return keep(found);
      })
      .finally(() => {
        running = null;
      });
    return running;
  }

  return {
    support: () => known,
    async forLaunch() {
      const found = running !== null || (known.state !== 'works' && !isRefused) ? await again() : known;
      return { ...found, isRefused };
    },
    refused(why) {
      isRefused = true;
      keep({ state: 'fails', why, how: 'Run `callboard doctor`, then restart Callboard.' });
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    begin() {
      sleep(delayMs, undefined, { signal: stopping.signal, ref: false }).then(
        () => (known === SANDBOX_UNTRIED ? again() : known), // a launch may have tried it meanwhile
        () => undefined, // stopped
      );
    },
    async stop() {
      stopping.abort(new Error('stopped'));
      await running;
    },
  };
}
