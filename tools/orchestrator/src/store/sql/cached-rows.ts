import type { Pause, Stage, StageId } from '@callboard/contract';
import type { BudgetRecord } from '../ports/usage-port.ts';
import type { SessionRecord } from '../records.ts';

/** Rows of one table in memory. They must not be changed in place. */
export interface RowCache<Key, Value> {
  /** Undefined if it must be read from the database. */
  find(key: Key): Value | undefined;
  /** Keeps what was read or written. */
  save(key: Key, value: Value): void;
  forget(key: Key): void;
  forgetAll(): void;
}

/** What each line of each session asks for again. */
export interface RowCaches {
  readonly sessions: RowCache<StageId, SessionRecord>;
  readonly stages: RowCache<StageId, Stage>;
  /** How many requests of a stage are open. */
  readonly openRequests: RowCache<StageId, number>;
  /** How many messages wait in the queue of a stage. */
  readonly queued: RowCache<StageId, number>;
  /** Whole tables, which have a few rows. */
  readonly holds: RowCache<'all', readonly Pause[]>;
  readonly budgets: RowCache<'all', readonly BudgetRecord[]>;
}

/** The rows as one transaction sees them: its own changes before the committed ones. */
export interface TransactionRowCaches extends RowCaches {
  /** Call after the commit. After a rollback, drop the object. */
  commit(): void;
}

/** A record of a session takes several kilobytes; a board has a few hundred active ones. */
const MAX = 1_000;

/**
 * Caches rows: otherwise each line of a session would read and check its record and its stage again. Transactions run one after
 * another, so the cache equals the committed state, unless another process has written: the store clears it then.
 */
export function createRowCaches() {
  const sessions = createCache<StageId, SessionRecord>();
  const stages = createCache<StageId, Stage>();
  const openRequests = createCache<StageId, number>();
  const queued = createCache<StageId, number>();
  const pauses = createCache<'all', readonly Pause[]>();
  const budgets = createCache<'all', readonly BudgetRecord[]>();
  const all = [sessions, stages, openRequests, queued, pauses, budgets];

  return {
    /** For reads outside of transactions: their result may already be outdated, so it is not cached. */
    committed: {
      sessions: sessions.committed,
      stages: stages.committed,
      openRequests: openRequests.committed,
      queued: queued.committed,
      holds: pauses.committed,
      budgets: budgets.committed,
    } satisfies RowCaches,
    /** Forgets everything: another process has written. */
    clear: () => all.forEach((cache) => void cache.clear()),
    begin(): TransactionRowCaches {
      const begun = {
        sessions: sessions.begin(),
        stages: stages.begin(),
        openRequests: openRequests.begin(),
        queued: queued.begin(),
        holds: pauses.begin(),
        budgets: budgets.begin(),
      };
      return { ...begun, commit: () => Object.values(begun).forEach((rows) => void rows.commit()) };
    },
  };
}

/**
 * The rows of some stages and the tables that all share, as a transaction sees them; all other rows are read anew. For one that does not
 * keep other processes from changing them.
 */
export function rowsOfStages(rows: TransactionRowCaches, has: (stageId: StageId) => boolean): TransactionRowCaches {
  const only = <Value>(cache: RowCache<StageId, Value>): RowCache<StageId, Value> => ({
    ...cache,
    find: (key) => (has(key) ? cache.find(key) : undefined),
    save: (key, value) => (has(key) ? cache.save(key, value) : cache.forget(key)),
  });
  return {
    ...rows,
    sessions: only(rows.sessions),
    stages: only(rows.stages),
    openRequests: only(rows.openRequests),
    queued: only(rows.queued),
  };
}

const NO_ROWS = { find: () => undefined, save: () => undefined, forget: () => undefined, forgetAll: () => undefined };

/** For readers that cannot know what others have written. */
export const NOTHING_CACHED: RowCaches = {
  sessions: NO_ROWS,
  stages: NO_ROWS,
  openRequests: NO_ROWS,
  queued: NO_ROWS,
  holds: NO_ROWS,
  budgets: NO_ROWS,
};

/** Returns all rows of a table, in the order in which `read` returns them. */
export async function wholeOf<Row>(
  caches: RowCache<'all', readonly Row[]>,
  read: () => Promise<readonly Row[]>,
): Promise<Row[]> {
  const saved = caches.find('all') ?? (await read());
  caches.save('all', saved);
  return [...saved];
}

function createCache<Key, Value>() {
  const committed = new Map<Key, Value>();

  function commit(changes: ReadonlyMap<Key, Value | undefined>): void {
    for (const [key, value] of changes) {
      committed.delete(key); // moves it to the end
      if (value !== undefined) committed.set(key, value);
    }
    for (const key of committed.keys()) {
      if (committed.size <= MAX) return;
      committed.delete(key);
    }
  }

  function begin(): RowCache<Key, Value> & { commit(): void } {
    const changes = new Map<Key, Value | undefined>();
    let isOld = false; // what is committed has been forgotten
    return {
      find: (key) => (isOld || changes.has(key) ? changes.get(key) : committed.get(key)),
      save: (key, value) => void changes.set(key, Object.freeze(value)),
      forget: (key) => void changes.set(key, undefined),
      forgetAll() {
        isOld = true;
        changes.clear();
      },
      commit() {
        if (isOld) committed.clear();
        commit(changes);
      },
    };
  }

  return {
    committed: { ...NO_ROWS, find: (key: Key) => committed.get(key) } satisfies RowCache<Key, Value>,
    clear: () => committed.clear(),
    begin,
  };
}
