import { z } from 'zod';
import { OperationalError } from '../../lib/errors.ts';
import { statementsFor } from '../sql/migration-statements.ts';
import { migrations } from '../sql/migrations.ts';
import { StoreOutgrown } from '../storage-failure.ts';
import { ownStatements } from './own-tables.ts';
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
  const [, found] = await link.queryAll('begin; select version from cluster_state where id = 1 for update');
  return Version.parse(found?.rows[0]).version;
}
