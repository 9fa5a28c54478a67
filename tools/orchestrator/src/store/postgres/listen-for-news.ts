import { setTimeout as wait } from 'node:timers/promises';
import { messageOf } from '@callboard/runtime/errors';
import type { Logger } from '../../lib/logger.ts';
import { CHANNEL } from './commit-statements.ts';
import type { Connect, PgLink } from './pg-link.ts';

/** A notification may get lost with its connection: the table is the truth. */
const CHECK_INTERVAL_MS = 1_000;

interface UpdateDeps {
  connect: Connect;
  check: () => Promise<void>;
  /** Whether everything up to a commit is known here. Resolves when a commit of this process that ends just now is over. */
  isKnown: (commit: number) => Promise<boolean>;
  log: Logger;
}

/** Looks for commits of others when the database tells of one, and each second. */
export function listenForUpdates({ connect, check, isKnown, log }: UpdateDeps): { stop(): Promise<void> } {
  const stopped = new AbortController();
  let link: PgLink | null = null;
  let isDue = false;
  let viewing: Promise<void> | null = null;

  function checkSoon(): void {
    isDue = true;
    viewing ??= checkUntilDone().finally(() => {
      viewing = null;
    });
  }

  async function checkUntilDone(): Promise<void> {
    while (isDue && !stopped.signal.aborted) {
      isDue = false;
      await check();
    }
  }

  /** The database tells of the commits of this process as well: they need no look. */
  async function hear(commit: number): Promise<void> {
    if (!(await isKnown(commit))) checkSoon();
  }

  async function listen(): Promise<void> {
    const opened = await connect(stopped.signal);
    link = opened;
    opened.onNotification((payload) => void hear(Number(payload)));
    await opened.queryAll(`listen ${CHANNEL}`);
    checkSoon(); // what came before
  }

  async function watch(): Promise<void> {
    while (!stopped.signal.aborted) {
      if (link === null || link.isBroken())
        await listen().catch((error: unknown) => log.debug({ reason: messageOf(error) }, 'database not listened to'));
      await wait(CHECK_INTERVAL_MS, undefined, { signal: stopped.signal, ref: false }).catch(() => undefined);
      checkSoon();
    }
  }

  const watching = watch();
  return {
    /** Does not wait for an answer; a look ends when its connection does. */
    async stop() {
      stopped.abort();
      await link?.end();
      await watching;
      await viewing;
    },
  };
}
