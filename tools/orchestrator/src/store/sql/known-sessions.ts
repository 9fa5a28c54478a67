import type { StageId } from '@callboard/contract';
import type { SessionRecord } from '../records.ts';

/** Session records in memory. They must not be changed in place. */
export interface KnownSessions {
  /** Undefined if it must be read from the database. */
  find(stageId: StageId): SessionRecord | undefined;
  /** Keeps a record that was read or written. */
  keep(record: SessionRecord): void;
  forget(stageId: StageId): void;
}

/** The records as one transaction sees them: its own changes before the committed ones. */
export interface SessionsInTransaction extends KnownSessions {
  /** Call after the commit. After a rollback, drop the object. */
  commit(): void;
}

/** Records take several kilobytes; a board has a few hundred active sessions. */
const MOST = 1_000;

/**
 * Caches the records: otherwise each line of a session would read and check its record again. Transactions run one after
 * another, so the cache equals the committed state, unless another process has written: the store clears it then.
 */
export function createKnownSessions() {
  const committed = new Map<StageId, SessionRecord>();

  function commit(changes: ReadonlyMap<StageId, SessionRecord | undefined>): void {
    for (const [stageId, record] of changes) {
      committed.delete(stageId); // moves it to the end
      if (record !== undefined) committed.set(stageId, record);
    }
    for (const stageId of committed.keys()) {
      if (committed.size <= MOST) return;
      committed.delete(stageId);
    }
  }

  return {
    /** For reads outside of transactions: their result may already be outdated, so it is not cached. */
    committed: {
      find: (stageId) => committed.get(stageId),
      keep: () => undefined,
      forget: () => undefined,
    } satisfies KnownSessions,
    /** Forgets everything: another process has written. */
    clear: () => committed.clear(),
    begin(): SessionsInTransaction {
      const changes = new Map<StageId, SessionRecord | undefined>();
      return {
        find: (stageId) => (changes.has(stageId) ? changes.get(stageId) : committed.get(stageId)),
        keep: (record) => void changes.set(record.stageId, Object.freeze(record)),
        forget: (stageId) => void changes.set(stageId, undefined),
        commit: () => commit(changes),
      };
    },
  };
}
