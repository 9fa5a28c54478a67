import { setTimeout as wait } from 'node:timers/promises';
import { messageOf } from '@callboard/runtime/errors';
import type { Logger } from '../../lib/logger.ts';
import { CHANNEL } from './commit-statements.ts';
import type { Connect, PgLink } from './pg-link.ts';

/** A notification may get lost with its connection: the table is the truth. */
const LOOK_EVERY_MS = 1_000;

interface NewsParts {
  connect: Connect;
  look: () => Promise<void>;
  /** Whether everything up to a commit is known here. Resolves when a commit of this process that ends just now is over. */
  isKnown: (commit: number) => Promise<boolean>;
  log: Logger;
}

/** Looks for commits of others when the database tells of one, and each second. */
export function listenForNews({ connect, look, isKnown, log }: NewsParts): { stop(): Promise<void> } {
  const stopped = new AbortController();
  let link: PgLink | null = null;
  let isDue = false;
  let looking: Promise<void> | null = null;

  function lookSoon(): void {
    isDue = true;
    looking ??= lookUntilDone().finally(() => {
      looking = null;
    });
  }

  async function lookUntilDone(): Promise<void> {
    while (isDue && !stopped.signal.aborted) {
      isDue = false;
      await look();
    }
  }

  /** The database tells of the commits of this process as well: they need no look. */
  async function hear(commit: number): Promise<void> {
    if (!(await isKnown(commit))) lookSoon();
  }

  async function listen(): Promise<void> {
    const opened = await connect(stopped.signal);
    link = opened;
    opened.onNotification((payload) => void hear(Number(payload)));
    await opened.queryAll(`listen ${CHANNEL}`);
    lookSoon(); // what came before
  }

  async function watch(): Promise<void> {
    while (!stopped.signal.aborted) {
      if (link === null || link.isBroken())
        await listen().catch((error: unknown) => log.debug({ reason: messageOf(error) }, 'database not listened to'));
      await wait(LOOK_EVERY_MS, undefined, { signal: stopped.signal, ref: false }).catch(() => undefined);
      lookSoon();
    }
  }

  const watching = watch();
  return {
    /** Does not wait for an answer; a look ends when its connection does. */
    async stop() {
      stopped.abort();
      await link?.end();
      await watching;
      await looking;
    },
  };
}
