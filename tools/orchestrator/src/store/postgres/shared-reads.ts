import type { LaunchId } from '@callboard/contract';
import type { OutboxTable } from '../ports/session-tables.ts';
import type { OutboxState } from '../records.ts';
import type { Database } from '../sql/database.ts';
import type { KnownSessions } from '../sql/known-sessions.ts';
import { outboxTable } from '../sql/tables/outbox.ts';
import { StoreTables } from '../sql/tables/tables.ts';
import type { SeenLaunches } from './seen-launches.ts';

/** The tables for reads outside of write transactions. Notes which launches had their accepted rows listed, and as of which commit. */
export class SharedReads extends StoreTables {
  private readonly own: OutboxTable;

  constructor({ db }: { db: Database }, known: KnownSessions, seen?: SeenLaunches) {
    super(db, known);
    this.own = seen === undefined ? outboxTable(db) : notingOutbox(db, seen);
  }

  override get outbox() {
    return this.own;
  }
}

function notingOutbox(db: Database, seen: SeenLaunches): OutboxTable {
  return {
    ...outboxTable(db),
    listOf: (launchId: LaunchId, states: readonly OutboxState[]) =>
      db.transaction().execute(async (trx) => {
        const state = await trx.selectFrom('cluster_state').select('commit').executeTakeFirstOrThrow();
        const rows = await outboxTable(trx).listOf(launchId, states);
        if (states.includes('accepted')) seen.note(launchId, state.commit);
        return rows;
      }),
  };
}
