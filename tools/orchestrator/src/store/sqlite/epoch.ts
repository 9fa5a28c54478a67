import { sql } from 'kysely';
import type { Database } from './database.ts';

/**
 * Has the event log begin anew with numbers that were never given: more are skipped than can be given within the second
 * or so that a power cut takes. Whoever asks for what came after an older number is told to load the board anew.
 */
export const newEpoch: readonly string[] = [
  'delete from events',
  `update sqlite_sequence set seq = seq + 1000000000 where name = 'events'`,
];

/**
 * At the first opening under another boot id the power may have been cut, and events that somebody heard may be gone
 * from the log. So that no number is used for two events, a new epoch begins.
 * @param bootId null where the system does not tell of its boots: then every opening may follow a power cut
 */
export async function beginEpoch(db: Database, bootId: string | null): Promise<void> {
  const known = await db.selectFrom('boot').select('id').executeTakeFirst();
  if (known !== undefined && known.id === bootId) return;
  await db.deleteFrom('boot').execute();
  const id = bootId ?? 'not known';
  await db.insertInto('boot').values({ id }).execute();
  if (known === undefined) return; // a new store, or one of a time when every commit was synced
  for (const statement of newEpoch) await sql.raw(statement).execute(db);
}
