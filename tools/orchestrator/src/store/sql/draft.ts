import type { NewEvent } from '@callboard/contract';
import type { Platform } from '../../lib/edges.ts';
import type { CommitSync, Tx } from '../store.ts';
import type { Database } from './database.ts';
import type { TransactionRowCaches } from './known-rows.ts';
import type { GivenRows } from './tables/outbox-row.ts';
import { StoreTables } from './tables/tables.ts';

interface DraftDeps {
  platform: Platform;
  diskPauseReason: Tx['diskPauseReason'];
}

/** What a transaction has to tell once it is committed. */
export interface Draft {
  /** The transaction as its work sees it. */
  txOn(db: Database, caches: TransactionRowCaches): Tx;
  /** What it has emitted, without events that a later one replaces. */
  events(): NewEvent[];
  readonly given: GivenRows;
  readonly hints: readonly (() => void)[];
  /** Whether its commit must be on disk before anyone is told. */
  isSynced(): boolean;
}

/** Collects what a transaction has to tell. */
export function createDraft({ platform, diskPauseReason }: DraftDeps, sync: CommitSync): Draft {
  const given: GivenRows = new Map();
  const emitted: NewEvent[] = [];
  const hints: (() => void)[] = [];
  let isSynced = sync === 'now';
  return {
    txOn: (db, known) =>
      Object.assign(new StoreTables(db, known, given), {
        now: platform.now().toISOString(),
        diskPauseReason,
        newId: platform.newId,
        newWireId: platform.newWireId,
        emit: async (event: NewEvent) => void emitted.push(event),
        afterCommit: (hint: () => void) => void hints.push(hint),
        syncFirst: () => {
          isSynced = true;
        },
      }),
    events: () => withoutOvertaken(emitted),
    given,
    hints,
    isSynced: () => isSynced,
  };
}

/** Returns a key for the thing that an event describes as a whole, of which only the newest counts; null if each event counts. */
function subjectOf({ type, data }: NewEvent): string | null {
  if (type === 'session-updated') return `${type} ${data.stageId}`;
  return type === 'decision-updated' ? `${type} ${data.stageId} ${data.requestId}` : null;
}

function withoutOvertaken(events: readonly NewEvent[]): NewEvent[] {
  const newest = new Map(events.map((event) => [subjectOf(event), event]));
  return events.filter((event) => subjectOf(event) === null || newest.get(subjectOf(event)) === event);
}
