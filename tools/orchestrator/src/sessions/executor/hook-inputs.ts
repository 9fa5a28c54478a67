import { setTimeout as sleep } from 'node:timers/promises';
import type { StageId } from '@callboard/contract';
import type { RecordedHook } from '../../agent/agent-event.ts';
import { changeSession } from '../../domain/change-session.ts';
import { showHookInputs } from '../../domain/hook-inputs.ts';
import type { Logger } from '../../lib/logger.ts';
import { createCoalescingWorker } from '../../lib/nudged-worker.ts';
import type { Store } from '../../store/store.ts';

export interface HookInputDeps {
  store: Store;
  log: Logger;
  stageId: StageId;
  worktree: string | null;
  /** Reads which hooks ran for which calls, from Claude Code's own record of a conversation. */
  readHooks: (conversationId: string) => Promise<readonly RecordedHook[]>;
  /** Aborts when the executor is detached; the next one goes on. */
  signal: AbortSignal;
}

/** The record is written a moment after the output, later on a busy machine. After the last try, the transcript says what is not known. */
const TRIES_MS = [100, 200, 500, 1_000, 3_000, 10_000, 20_000] as const;

/** Says in the transcript which calls hooks have changed, once Claude Code's own record names the calls. */
export function createHookInputs({ store, log, stageId, worktree, readHooks, signal }: HookInputDeps) {
  async function show(isLast: boolean): Promise<boolean> {
    const { hookInputs = [] } = (await store.read.sessions.find(stageId)) ?? {};
    if (hookInputs.length === 0) return true;
    const conversations = new Set(hookInputs.flatMap(({ conversationId }) => conversationId ?? []));
    const recorded = (await Promise.all([...conversations].map(readHooks))).flat();
    let isDone = false;
    await store.transact((tx) =>
      changeSession(tx, stageId, async (change) => {
        isDone = await showHookInputs(tx, change, { recorded, worktree, isLast });
      }),
    );
    return isDone;
  }

  const worker = createCoalescingWorker(async () => {
    for (const [index, delay] of TRIES_MS.entries()) {
      await sleep(delay, undefined, { signal, ref: false });
      if (await show(index === TRIES_MS.length - 1)) return;
    }
  }, failed);

  function failed(error: unknown): void {
    if (!signal.aborted) log.warn({ err: error }, 'showing what hooks changed failed');
  }

  return {
    /** A hook has changed a call. */
    changed: worker.schedule,
    /** The process is gone, and its record complete. */
    finish: async () => {
      await show(true).catch(failed);
    },
  };
}
