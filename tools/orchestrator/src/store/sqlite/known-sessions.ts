import type { StageId } from '@callboard/contract';
import type { SessionRecord } from '../records.ts';

/** Session records that are in memory. They must not be changed in place. */
export interface KnownSessions {
  /** Undefined if it has to be read from the database. */
  find(stageId: StageId): SessionRecord | undefined;
  /** Keeps a record that was read or written. */
  keep(record: SessionRecord): void;
  forget(stageId: StageId): void;
}

/** The records as one transaction sees them: its own changes before the committed ones. */
export interface SessionsInTransaction extends KnownSessions {
  /** To be called after the commit. After a rollback the object is simply dropped. */
  commit(): void;
}

/** Records take several kilobytes; a board has a few hundred active sessions. */
const MOST = 1_000;

/**
 * Keeps a copy of the records: otherwise each line of a session would have its record read and checked again. The store
 * is the only writer of its file and its transactions run one after another, so the copy equals what is committed.
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
    /** For reads outside of transactions: what they read may be outdated by the time they have it, so nothing is kept. */
    committed: {
      find: (stageId) => committed.get(stageId),
      keep: () => undefined,
      forget: () => undefined,
    } satisfies KnownSessions,
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
