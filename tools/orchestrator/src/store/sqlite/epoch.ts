import { sql } from 'kysely';
import type { Database } from '../sql/database.ts';

/**
 * Restarts the event log with unused numbers: skips more than can be used within the second or so that a power cut
 * loses. A client that asks for events after an older number is told to load the board again.
 */
export const newEpoch: readonly string[] = [
  'delete from events',
  `update sqlite_sequence set seq = seq + 1000000000 where name = 'events'`,
];

/**
 * Begins a new epoch when the store is first opened under another boot id: after a power cut the log may lack events
 * that clients have already received. So no number is used for two events.
 * @param bootId null if the system does not report one; every opening may follow a power cut then
 */
export async function beginEpoch(db: Database, bootId: string | null): Promise<void> {
  const known = await db.selectFrom('boot').select('id').executeTakeFirst();
  if (known !== undefined && known.id === bootId) return;
  await db.deleteFrom('boot').execute();
  const id = bootId ?? 'not known';
  await db.insertInto('boot').values({ id }).execute();
  if (known === undefined) return; // a new store, or one from when every commit was synced
  for (const statement of newEpoch) await sql.raw(statement).execute(db);
}
