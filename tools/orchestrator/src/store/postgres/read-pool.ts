import type { Kysely } from 'kysely';
import type { Schema } from '../sql/schema.ts';
import { kyselyOn } from './pg-dialect.ts';
import type { Connect, PgLink } from './pg-link.ts';

/** Reads that run at the same time. */
const MOST_LINKS = 4;

export interface ReadPool {
  readonly db: Kysely<Schema>;
  /** Runs `work` with a connection of its own for the time. */
  use<T>(work: (link: PgLink) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** Connections for reads outside of write transactions. A transaction on `db` sees one state of the database. */
export function createReadPool(connect: Connect): ReadPool {
  const idle: PgLink[] = [];
  const links = new Set<PgLink>();
  const waiting: (() => void)[] = [];
  let count = 0;

  async function open(): Promise<PgLink> {
    const link = await connect();
    links.add(link);
    link.onBroken(() => links.delete(link));
    return link;
  }

  async function acquire(): Promise<PgLink> {
    while (count >= MOST_LINKS) await new Promise<void>((resolve) => waiting.push(resolve));
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
      rollback: async (link) => void (await link.queryAll('rollback').catch(() => undefined)),
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
    close: async () => void (await Promise.all([...links].map((link) => link.end()))),
  };
}
