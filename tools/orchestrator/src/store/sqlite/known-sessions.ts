import type { StageId } from '@callboard/contract';
import type { SessionRecord } from '../records.ts';

/** What is known of session records without reading them. Whoever gets one must not change it. */
export interface KnownSessions {
  /** Undefined where it has to be read. */
  find(stageId: StageId): SessionRecord | undefined;
  /** What was read, or written. */
  keep(record: SessionRecord): void;
  forget(stageId: StageId): void;
}

/** What one transaction knows: its own changes stand before what is committed. */
export interface SessionsInTransaction extends KnownSessions {
  /** The transaction is committed. One that is rolled back is simply dropped. */
  commit(): void;
}

/** Records of several kilobytes; a board has some hundred sessions that anything happens to. */
const MOST = 1_000;

/**
 * A copy of the records, since each line of a session would have its record read and checked again otherwise. The store
 * is the only writer of its file, and its transactions run one after another, so the copy holds what is committed.
 */
export function createKnownSessions() {
  const committed = new Map<StageId, SessionRecord>();

  function commit(changes: ReadonlyMap<StageId, SessionRecord | undefined>): void {
    for (const [stageId, record] of changes) {
      committed.delete(stageId); // to stand behind the others
      if (record !== undefined) committed.set(stageId, record);
    }
    for (const stageId of committed.keys()) {
      if (committed.size <= MOST) return;
      committed.delete(stageId);
    }
  }

  return {
    /** For those who read beside the transactions: what they read may be outdated by the time that they have it, so they keep nothing. */
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
