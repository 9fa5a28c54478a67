import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../lib/logger.ts';
import { isStorageFailure } from './storage-failure.ts';
import type { CommitOptions, Store, Tx } from './store.ts';

export interface RetryDeps {
  store: Store;
  log: Logger;
  signal: AbortSignal;
}

const FIRST_PAUSE_MS = 250;
const MAX_PAUSE_MS = 10_000;

/**
 * Runs the transaction until the store accepts it: for facts that only need to be recorded. Commits without a sync of its
 * own unless `options` say otherwise, because output is in the spool too.
 * @throws any error that is not a failure of the store, and the signal's reason
 */
export const retryUntilStored = <T>(
  deps: RetryDeps,
  work: (tx: Tx) => Promise<T>,
  options: CommitOptions = { sync: 'later' },
): Promise<T> => retryWhileStoreFails(deps, () => deps.store.transact(work, options));

/**
 * Repeats an attempt until the store does not fail it: for what must be read whenever the store answers again.
 * @throws as `retryUntilStored`
 */
export async function retryWhileStoreFails<T>(
  { log, signal }: Omit<RetryDeps, 'store'>,
  attempt: () => Promise<T>,
): Promise<T> {
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS)) {
    signal.throwIfAborted();
    try {
      return await attempt();
    } catch (error) {
      if (!isStorageFailure(error)) throw error;
      log.info({ err: error }, 'the store failed; retrying');
      await sleep(pauseMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }
}
