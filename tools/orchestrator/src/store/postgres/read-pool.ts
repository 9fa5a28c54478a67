import { setTimeout as wait } from 'node:timers/promises';
import type { Kysely } from 'kysely';
import type { Schema } from '../sql/schema.ts';
import { storeClosed } from '../storage-failure.ts';
import { kyselyOn } from './pg-dialect.ts';
import type { Connect, PgLink } from './pg-link.ts';

/** Reads that run at the same time. */
const MAX_LINKS = 4;
/** How long closing waits for reads that run. */
const CLOSE_MS = 2_000;

export interface ReadPool {
  readonly db: Kysely<Schema>;
  /** Runs `work` with a connection of its own for the time. */
  use<T>(work: (link: PgLink) => Promise<T>): Promise<T>;
  /** Refuses new and waiting reads with `orchestrator_unreachable`, waits a moment for those that run, and ends all connections. */
  close(): Promise<void>;
}

/** Connections for reads outside of write transactions. A transaction on `db` sees one state of the database. */
export function createReadPool(connect: Connect): ReadPool {
  const idle: PgLink[] = [];
  const links = new Set<PgLink>();
  const waiting: (() => void)[] = [];
  let count = 0;
  let isClosed = false;
  const hasEnded = new AbortController();
  const empty = Promise.withResolvers<void>();

  /** @throws OperationalError `orchestrator_unreachable`, also if the pool has ended its connections meanwhile */
  async function open(): Promise<PgLink> {
    if (isClosed) throw storeClosed();
    const link = await connect(hasEnded.signal).catch((error: unknown) => {
      throw hasEnded.signal.aborted ? storeClosed() : error;
    });
    links.add(link);
    link.onBroken(() => links.delete(link));
    return link;
  }

  async function acquire(): Promise<PgLink> {
    while (count >= MAX_LINKS && !isClosed) await new Promise<void>((resolve) => waiting.push(resolve));
    if (isClosed) throw storeClosed();
    count++;
    try {
      for (let link = idle.pop(); link !== undefined; link = idle.pop()) if (!link.isBroken()) return link;
      return await open();
    } catch (error) {
      leave();
      throw error;
    }
  }

  function leave(): void {
    count--;
    waiting.shift()?.();
    if (isClosed && count === 0) empty.resolve();
  }

  function release(link: PgLink): void {
    if (!link.isBroken()) idle.push(link);
    leave();
  }

  const db = kyselyOn(
    { acquire, release, replace: open },
    {
      begin: async (link) => void (await link.queryAll('begin isolation level repeatable read read only')),
      commit: async (link) => void (await link.queryAll('commit')),
      rollback: (link) => link.rollback(),
    },
    () => undefined,
  );
  return {
    db,
    async use(work) {
      const link = await acquire();
      try {
        return await work(link);
      } finally {
        release(link);
      }
    },
    async close() {
      isClosed = true;
      for (const refuse of waiting.splice(0)) refuse();
      if (count > 0) await Promise.race([empty.promise, wait(CLOSE_MS, undefined, { ref: false })]);
      hasEnded.abort(); // those that are being made as well
      await Promise.all([...links].map((link) => link.end()));
    },
  };
}
