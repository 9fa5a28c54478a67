import { type Kysely, sql } from 'kysely';
import { OperationalError } from '../../lib/errors.ts';
import { statementsFor } from '../sql/migration-statements.ts';
import { migrations } from '../sql/migrations.ts';
import type { Schema } from '../sql/schema.ts';

/**
 * Brings a database up to date.
 * @throws OperationalError `database_newer` if a newer Callboard wrote it
 */
export async function migrate(db: Kysely<Schema>): Promise<void> {
  const { rows } = await sql<{ user_version: number }>`pragma user_version`.execute(db);
  const version = rows[0]?.user_version ?? 0;
  const text = newerThanThis(version);
  if (text !== null) throw new OperationalError('database_newer', text);
  for (const migration of migrations.filter(({ id }) => id > version)) {
    await db.transaction().execute(async (trx) => {
      for (const statement of statementsFor('sqlite', migration)) await sql.raw(statement).execute(trx);
      await sql.raw(`pragma user_version = ${migration.id}`).execute(trx);
    });
  }
}

/** Says so if a newer Callboard has written a database of this version; null otherwise. */
export function newerThanThis(version: number): string | null {
  const newest = migrations.at(-1)?.id ?? 0;
  return version > newest
    ? `The database was written by a newer Callboard (version ${version}, this one knows ${newest}). Start the newer one, or use another --data-dir.`
    : null;
}
