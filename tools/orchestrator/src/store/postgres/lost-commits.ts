import { sql } from 'kysely';
import type { Database } from '../sql/database.ts';
import { DatabaseUnreachable } from '../storage-failure.ts';
import { SKIPPED } from './begin-epoch.ts';

/** @throws DatabaseUnreachable from then on, if a commit up to this number is gone */
export type RequireNothingLost = (newest: number) => Promise<void>;

/**
 * Notices that commits are gone that this process knows of: they were not synced, and the server crashed or handed over to a standby.
 * What the process remembers is ahead of the database then, so it must not go on: lines of Claude Code whose meaning was stored, and lost,
 * are read again only by a process that begins from the stored offsets. Each start of the server notes where its numbers end, and
 * those behind are never used again.
 */
export function watchForLoss(db: Database, onCommitsLost: () => void): RequireNothingLost {
  let hasLost = false;
  return async (newest) => {
    if (!hasLost) {
      const { rows } = await sql`select recovered from server_starts
        where recovered < ${newest} and recovered + ${SKIPPED} > ${newest} limit 1`.execute(db);
      if (rows.length === 0) return;
      hasLost = true;
      onCommitsLost();
    }
    throw new DatabaseUnreachable('it lacks what this Callboard had stored; Callboard starts again');
  };
}
