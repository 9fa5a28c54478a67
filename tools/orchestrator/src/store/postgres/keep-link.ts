import { setTimeout as wait } from 'node:timers/promises';
import { messageOf } from '@callboard/runtime/errors';
import { settlesWithin } from '@callboard/runtime/settles-within';
import type { Logger } from '../../lib/logger.ts';
import { DatabaseUnreachable } from '../storage-failure.ts';
import type { Connect, PgLink } from './pg-link.ts';

/** How long somebody waits for a connection that is being made anew, from the moment when it broke. */
const GRACE_MS = 2_000;
const FIRST_RETRY_MS = 50;
const LAST_RETRY_MS = 1_000;
/** How long closing waits for a last connection. */
const CLOSE_MS = 2_000;

export interface LinkConnection {
  /** Resolves with the connection. @throws what the last attempt has failed with, at once when the grace is over */
  link(): Promise<PgLink>;
  /** Ends the connection, with whatever waits for its answer, and makes no other one for `link`. */
  cut(): Promise<void>;
  /** @param isNeeded makes one last attempt if there is no connection, for a moment */
  close(isNeeded: boolean): Promise<void>;
}

interface LinkConnectionDeps {
  connect: Connect;
  /** Runs on each new connection before anybody gets it; if it fails, the connection is tried anew. */
  prepare: (link: PgLink) => Promise<void>;
  log: Logger;
}

/** Keeps one connection, and makes it anew as soon as it breaks, for as long as it takes. */
export async function maintainLink({ connect, prepare, log }: LinkConnectionDeps): Promise<LinkConnection> {
  let current: PgLink | null = null;
  let attempts: Promise<void> | null = null;
  let brokenAt = 0;
  let failure: unknown = null;
  const closed = new AbortController();
  const isOver = new AbortController();

  async function open(): Promise<void> {
    const link = await connect(isOver.signal);
    try {
      await prepare(link);
    } catch (error) {
      await link.end();
      throw error;
    }
    current = link;
    failure = null;
    link.onBroken(() => void retry());
    if (link.isBroken()) throw new DatabaseUnreachable('it broke at once');
  }

  function retry(): Promise<void> {
    if (attempts !== null || closed.signal.aborted) return attempts ?? Promise.resolve();
    current = null;
    brokenAt = performance.now();
    log.warn('connection to the database lost');
    attempts = tryUntilOpen().finally(() => {
      attempts = null;
    });
    return attempts;
  }

  async function tryUntilOpen(): Promise<void> {
    for (let ms = FIRST_RETRY_MS; !closed.signal.aborted; ms = Math.min(ms * 2, LAST_RETRY_MS)) {
      try {
        await open();
        log.info('connected to the database again');
        return;
      } catch (error) {
        current = null;
        failure = error;
        log.debug({ reason: messageOf(error) }, 'database not reached');
      }
      await wait(ms, undefined, { signal: closed.signal, ref: false }).catch(() => undefined);
    }
  }

  async function connectOnceMore(isNeeded: boolean): Promise<void> {
    await attempts;
    if (isNeeded && (current === null || current.isBroken()))
      await open().catch((error: unknown) => log.debug({ reason: messageOf(error) }, 'database not reached'));
  }

  await open();
  return {
    async link() {
      if (current !== null && !current.isBroken()) return current;
      const again = retry();
      const restMs = brokenAt + GRACE_MS - performance.now();
      if (restMs > 0 || failure === null)
        await Promise.race([again, wait(Math.max(restMs, 100), undefined, { ref: false })]);
      if (current !== null && !current.isBroken()) return current;
      throw failure ?? new DatabaseUnreachable('no connection yet');
    },
    async cut() {
      closed.abort();
      await current?.end();
    },
    async close(isNeeded) {
      closed.abort();
      await settlesWithin(connectOnceMore(isNeeded), CLOSE_MS);
      isOver.abort(); // one that is being made as well
      await current?.end();
    },
  };
}
