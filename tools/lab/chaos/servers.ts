import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  createDatabaseOn,
  type PostgresServer,
  runSql,
  type StandbyServer,
  startPostgres,
  startStandby,
} from '../../../test-support/postgres.ts';
import type { AtEnd } from '../../../test-support/temporary-folder.ts';
import type { Database } from './place.ts';
import type { Random } from './random.ts';

export interface ServersOptions {
  /** Lines for postgresql.conf. */
  settings: readonly string[];
  /** Whether a synchronous standby follows the server, and takes over when that is switched off. */
  hasStandby: boolean;
  machines: number;
  random: Random;
  atEnd: AtEnd;
}

/** The database, where its servers are, and its URL at the first of them. */
export interface Servers {
  database: Database;
  url: string;
  /** In any order: a standby that took over stays where it was. */
  ports: readonly number[];
}

/** A lease lasts as long. */
const LEASE_MS = 20_000;
/** How long it takes at most until all machines have renewed their leases at the new server. */
const ALL_MOVED_MS = 30_000;
/** For how long the standby lags at most before the server is switched off: with commits that wait for it. */
const LAG_MS = 1_500;
/** For how long a server that was replaced is back at most. */
const BACK_MS = 4_000;

/** Starts the database's servers. */
export async function openServers({ settings, hasStandby, machines, random, atEnd }: ServersOptions): Promise<Servers> {
  let current: PostgresServer = await startPostgres(atEnd, settings);
  const url = await createDatabaseOn(current.address, atEnd);
  const name = new URL(url).pathname.slice(1);
  let standby: StandbyServer | null = hasStandby ? await startStandby(current, atEnd) : null;
  const ports = [current, ...(standby === null ? [] : [standby])].map(({ address }) => address.port);
  const count = async (sql: string) => Number(await runSql(current.address, sql, name));
  const lines = async (sql: string) =>
    (await runSql(current.address, sql, name)).split('\n').filter((line) => line !== '');

  /** Whether each machine has renewed its lease at the new server by now. */
  async function haveAllMoved(signal: AbortSignal): Promise<boolean> {
    const now = await count('select extract(epoch from clock_timestamp()) * 1000');
    const renewed = `select count(*) from machines where lease_until > ${now + LEASE_MS}`;
    for (const limit = performance.now() + ALL_MOVED_MS; performance.now() < limit; ) {
      if ((await count(renewed)) === machines) return true;
      await sleep(200, undefined, { signal });
    }
    return false;
  }

  /** In the middle of commits, of which the standby has some, and of which some were sent. */
  async function switchOff(): Promise<void> {
    if (standby === null) throw new Error('the server has no standby');
    const receiver = Number(await runSql(standby.address, 'select pid from pg_stat_wal_receiver'));
    process.kill(receiver, 'SIGSTOP');
    try {
      await sleep(random.between(0, LAG_MS));
      await current.kill();
    } finally {
      process.kill(receiver, 'SIGCONT');
    }
  }

  /** The server that was replaced is back for a time, and takes writes that wait for nobody. Callboard must not use it. */
  async function recoverAutomatically(old: PostgresServer, signal: AbortSignal): Promise<void> {
    const settingsOfOld = join(old.address.socketFolder, 'data', 'postgresql.auto.conf');
    await appendFile(settingsOfOld, "synchronous_standby_names = ''\n");
    await old.start();
    await sleep(random.between(500, BACK_MS), undefined, { signal }).catch(() => undefined); // the time is up
    // Its crash has emptied this table, in which whoever writes to a server notes its life first.
    const lives = await runSql(old.address, 'select count(*) from server_life', name);
    await old.stop('immediate');
    if (lives !== '0') throw new Error('a server that was replaced by its standby was used again');
  }

  async function failOver(signal: AbortSignal): Promise<void> {
    if (standby === null) throw new Error('the server has no standby');
    const old = current;
    await standby.promote();
    current = standby;
    if (random.between(1, 2) === 1 && (await haveAllMoved(signal))) await recoverAutomatically(old, signal);
    standby = await startStandby(current, atEnd, { port: old.address.port });
  }

  return {
    url,
    ports,
    database: {
      count,
      lines,
      stop: (how) => current.stop(how),
      start: () => current.start(),
      switchOff,
      failOver: standby === null ? null : failOver,
    },
  };
}
