import type { LaunchId } from '@callboard/contract';
import type { OutboxTable } from '../ports/session-tables.ts';
import type { OutboxState } from '../records.ts';
import type { Database } from '../sql/database.ts';
import { NOTHING_CACHED, type RowCaches } from '../sql/known-rows.ts';
import { outboxTable } from '../sql/tables/outbox.ts';
import { StoreTables } from '../sql/tables/tables.ts';
import type { SeenLaunches } from './seen-launches.ts';

/** The tables for reads outside of write transactions. Notes which launches had their accepted rows listed, and as of which commit. */
export class SharedReads extends StoreTables {
  private readonly own: OutboxTable;

  constructor({ db }: { db: Database }, caches: RowCaches, seen?: SeenLaunches) {
    super(db, caches);
    this.own = seen === undefined ? outboxTable(db, caches.queued) : notingOutbox(db, seen);
  }

  override get outbox() {
    return this.own;
  }
}

function notingOutbox(db: Database, seen: SeenLaunches): OutboxTable {
  return {
    ...outboxTable(db, NOTHING_CACHED.queued),
    listOf: (launchId: LaunchId, states: readonly OutboxState[]) =>
      db.transaction().execute(async (trx) => {
        const state = await trx.selectFrom('cluster_state').select('commit').executeTakeFirstOrThrow();
        const rows = await outboxTable(trx, NOTHING_CACHED.queued).listOf(launchId, states);
        if (states.includes('accepted')) seen.note(launchId, state.commit);
        return rows;
      }),
  };
}
