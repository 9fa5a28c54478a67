import { StoreOutgrown } from '@callboard/orchestrator/storage-error';
import { migrations, OperationalError, statementsFor } from '@callboard/orchestrator/store';
import { z } from 'zod';
import { LOCK_ALL, SKIPPED } from './commits.ts';
import type { PgLink } from './pg-link.ts';

/** Any number that nobody else locks. */
const LOCK = 4_822_551_620;

const Version = z.object({ version: z.int() });

const NEWEST_VERSION = migrations.at(-1)?.id ?? 0;

/**
 * Brings the database up to date. Of machines that start at the same time, one does it.
 * @throws OperationalError `database_newer` if a newer Callboard wrote it, `storage_failed` if it cannot hold a store
 */
export async function migrate(link: PgLink): Promise<void> {
  const [encoding] = await link.queryAll('show server_encoding');
  if (!JSON.stringify(encoding?.rows).includes('UTF8'))
    throw new OperationalError(
      'storage_failed',
      'The database cannot hold all texts. Create it with the encoding UTF8.',
    );
  await link.queryAll(`set statement_timeout = 0; set lock_timeout = 0; select pg_advisory_lock(${LOCK})`);
  try {
    if ((await versionOf(link)) === NEWEST_VERSION) return;
    await link.queryAll(['begin', ...ownStatements, 'commit'].join(';'));
    for (const migration of migrations) {
      const known = await lockVersion(link);
      const text = newerThanKnown(known);
      if (text !== null) throw new OperationalError('database_newer', `This Callboard cannot start: ${text}`);
      const due = migration.id > known ? statementsFor('postgres', migration) : [];
      const version = Math.max(known, migration.id);
      await link.queryAll([...due, `update cluster_state set version = ${version}`, 'commit'].join(';'));
    }
  } catch (error) {
    await link.queryAll('rollback').catch(() => undefined);
    throw error;
  } finally {
    await link.queryAll(`select pg_advisory_unlock(${LOCK})`).catch(() => undefined);
  }
}

/** @param row has the version of the database. @throws StoreOutgrown if a newer Callboard has written to it */
export function requireKnownVersion(row: unknown): void {
  const text = newerThanKnown(Version.parse(row).version);
  if (text !== null) throw new StoreOutgrown(text);
}

/** Says so if a newer Callboard has written to the database. Null otherwise. */
const newerThanKnown = (version: number): string | null =>
  version > NEWEST_VERSION
    ? `the database was written by a newer Callboard (version ${version}, this one knows ${NEWEST_VERSION}). Install that one on this machine, and start it. Sessions go on meanwhile, and nothing is lost.`
    : null;

/** Null in a database without a store. */
export async function versionOf(link: Pick<PgLink, 'query' | 'queryAll'>): Promise<number | null> {
  const [found] = await link.queryAll(`select to_regclass('cluster_state') is not null as has`);
  if (!JSON.stringify(found?.rows).includes('true')) return null;
  const { rows } = await link.query({ text: 'select version from cluster_state where id = 1' });
  return Version.parse(rows[0] ?? { version: 0 }).version;
}

/** Begins a transaction that keeps all writers waiting. */
async function lockVersion(link: PgLink): Promise<number> {
  const results = await link.queryAll(`begin; ${LOCK_ALL}; select version from cluster_state where id = 1`);
  return Version.parse(results.at(-1)?.rows[0]).version;
}

/**
 * The tables of a shared store that hold none of Callboard's data. `cluster_state` is one row, which each write transaction
 * changes as it commits: the numbers of the newest commit and of the newest event, how many of them have locked all others out, and the
 * version of the schema. `writers` says which was
 * the last commit of each process, so that one whose connection was cut during a commit learns what became of it.
 * `given_rows` tells machines which rows of the outbox were given to their launches. `server_life` is unlogged, so it is
 * empty after a crash of the server and after a fail-over: commits may be missing then. `server_starts` keeps the number of
 * the newest commit that was left at each start of the server: the numbers behind it are lost, and never used again.
 * What begins with `search_` is the index of the search, which is derived, and made by whoever searches first.
 */
export const OWN_TABLES: readonly string[] = [
  ...['cluster_state', 'writers', 'given_rows', 'server_life', 'server_starts'],
  ...['search_state', 'search_stages', 'search_entries', 'search_parts'],
];

/** Creates what is missing. `callboard_json` replaces the escapes of NUL and of halves of pairs, which PostgreSQL refuses to read. */
const ownStatements: readonly string[] = [
  `create table if not exists cluster_state (
     id bigint primary key check (id = 1), "commit" bigint not null, seq bigint not null, version bigint not null,
     alone bigint not null default 0) with (fillfactor = 20)`,
  `insert into cluster_state (id, "commit", seq, version) values (1, 0, 0, 0) on conflict do nothing`,
  `create table if not exists writers (
     id text primary key, "commit" bigint not null, at timestamptz not null default now()) with (fillfactor = 20)`,
  `create table if not exists given_rows (
     "commit" bigint not null, row_id text not null, launch_id text not null, at timestamptz not null default now(),
     primary key ("commit", row_id))`,
  `create unlogged table if not exists server_life (identity text not null)`,
  `create table if not exists server_starts (recovered bigint primary key)`,
  `create or replace function callboard_json(document text) returns json language sql immutable parallel safe as $$
     select case when strpos(document, '\\u0000') > 0 or strpos(document, '\\ud') > 0
       then regexp_replace(document, '(?<!\\\\)((?:\\\\\\\\)*)\\\\u(?:0000|d[89a-f][0-9a-f]{2})', '\\1\\\\ufffd', 'g')
       else document end::json $$`,
];

const State = z.object({ commit: z.int(), seq: z.int() });
const Identity = z.object({ identity: z.string() });

/**
 * Begins a new epoch of the event log if the server was started anew since the last one, has crashed, has handed over to a
 * standby, or is another one: commits that were not synced may be missing, and clients may have seen their events. The
 * numbers of commits and events skip what may have been used. Call for each new connection, before anything is written.
 */
export async function beginEpoch(link: PgLink): Promise<void> {
  const [, , , locked, life, now] = await link.queryAll(`begin; ${LOCK_ALL};
    select "commit", seq from cluster_state where id = 1;
    select identity from server_life;
    select (select system_identifier from pg_control_system()) || ' ' ||
      (select oid from pg_database where datname = current_database()) || ' ' ||
      extract(epoch from pg_postmaster_start_time()) as identity`);
  const { commit, seq } = State.parse(locked?.rows[0]);
  const { identity } = Identity.parse(now?.rows[0]);
  if (Identity.safeParse(life?.rows[0]).data?.identity === identity) {
    await link.queryAll('rollback');
    return;
  }
  const isNew = commit === 0 && seq === 0;
  const skip = `insert into server_starts (recovered) values (${commit}) on conflict do nothing;
    delete from events;
    update cluster_state set "commit" = "commit" + ${SKIPPED}, seq = seq + ${SKIPPED}, alone = alone + ${SKIPPED}`;
  await link.queryAll(
    [
      ...(isNew ? [] : [skip]),
      'delete from server_life',
      `insert into server_life (identity) values ('${identity}')`,
      'commit',
    ].join(';'),
  );
}
