import {
  type BoardEvent,
  type BoardParts,
  CLAUDE_UNCHECKED,
  type LaunchId,
  type NewEvent,
  NO_LIMITS,
  SANDBOX_UNTRIED,
  type Stage,
  type StageId,
} from '@callboard/contract';
import { createEmitter } from '@callboard/runtime/emitter';
import type { Logger, Platform } from '../../platform/runtime.ts';
import { type OutboxRow, type SessionRecord, summaryOf } from '../records.ts';
import { isOutcomeUnknown, type StorageError } from '../storage-error.ts';
import type { CommitSync, Store, Tables, Tx } from '../store.ts';
import type { TransactionRowCaches } from './cached-rows.ts';
import type { GivenRows } from './rows.ts';
import type { Database } from './schema.ts';
import { StoreTables } from './tables.ts';

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

/** Reads everything the board shows. Call within one transaction. */
export async function readBoard(all: Tables): Promise<BoardParts> {
  const sessions = new Map((await all.sessions.list()).map((record) => [record.stageId, record]));
  return {
    seq: await all.events.lastSeq(),
    projects: await all.projects.list(),
    stages: (await all.stages.list()).map((stage) => withSession(stage, sessions.get(stage.id) ?? null)),
    pending: await all.requests.listOpen(),
    unsettled: await all.requests.listUnsettled(),
    limits: await all.limits.view(),
    holds: await all.holds.list(),
    ...NO_NOTICES,
  };
}

/** Reads the part of the board behind one stage's card: see `Store.boardOf`. Call within one transaction. */
export async function readBoardOf(all: Tables, stageId: StageId): Promise<BoardParts> {
  const stage = await all.stages.find(stageId);
  const others = await Promise.all((stage?.dependsOn ?? []).map((id) => all.stages.find(id)));
  const session = await all.sessions.find(stageId);
  return {
    seq: await all.events.lastSeq(),
    projects: [],
    stages: [
      ...(stage === null ? [] : [withSession(stage, session)]),
      ...others.flatMap((other) => (other === null ? [] : [withSession(other, null)])),
    ],
    pending: await all.requests.listOpenOf(stageId),
    unsettled: await all.requests.listUnsettledOf(stageId),
    limits: NO_LIMITS,
    holds: await all.holds.list(),
    ...NO_NOTICES,
  };
}

const NO_NOTICES = {
  warnings: [],
  paused: null,
  startHolds: [],
  budgets: [],
  sandbox: SANDBOX_UNTRIED,
  claude: CLAUDE_UNCHECKED,
};

const withSession = (stage: Stage, record: SessionRecord | null): BoardParts['stages'][number] => ({
  ...stage,
  session: record === null ? null : summaryOf(record),
});

export type Subscribers = ReturnType<typeof createSubscribers>;

/** The listeners of the store. If one throws, the error is logged; the commit stands. */
export function createSubscribers(log: Logger) {
  const failed = (error: unknown) => log.error({ err: error }, 'listener failed after a commit');
  const published = createEmitter<BoardEvent>(failed);
  const written = createEmitter<StorageError | null>(failed);
  const unsynced = createEmitter(failed);
  const takers = new Map<LaunchId, (rows: readonly OutboxRow[]) => void>();

  function notify(listener: () => void): void {
    try {
      listener();
    } catch (error) {
      failed(error);
    }
  }

  const onGiven: Store['onGiven'] = (launchId, take) => {
    takers.set(launchId, take);
    return () => {
      if (takers.get(launchId) === take) takers.delete(launchId);
    };
  };

  return {
    onEvent: published.subscribe,
    onWrite: written.subscribe,
    onUnsynced: unsynced.subscribe,
    onGiven,
    /** The launches whose rows somebody here writes. */
    takenLaunches: (): LaunchId[] => [...takers.keys()],
    /** Gives each launch its rows, in order. */
    give(given: GivenRows): void {
      const inOrder = [...given.values()].toSorted((a, b) => a.ordinal - b.ordinal);
      for (const [launchId, rows] of Map.groupBy(inOrder, (row) => row.launchId)) {
        const take = launchId === null ? undefined : takers.get(launchId);
        if (take !== undefined) notify(() => take(rows));
      }
    },
    publish(events: readonly BoardEvent[]): void {
      for (const event of events) published.emit(event);
    },
    reportUnsynced: unsynced.emit,
    reportWrite: written.emit,
    run(hints: readonly (() => void)[]): void {
      for (const hint of hints) notify(hint);
    },
  };
}

type Work<T> = (tx: Tx) => Promise<T>;

interface Piece {
  /** Resolves with a function that reports the commit. */
  run: Work<() => void>;
  fail: (error: unknown) => void;
  alone: () => void;
}

interface BatcherOptions {
  /** Runs a piece of a batch that failed. */
  transactAlone: <T>(work: Work<T>, stage: StageId | undefined) => Promise<T>;
  /** Whether also the only piece of a batch runs alone after this failure. */
  mustRepeat: (error: unknown) => boolean;
}

/** More pieces would block the event loop for longer than five milliseconds. */
const MAX = 8;

/**
 * Runs pieces of work that arrive at the same time in one transaction: beginning and committing one costs as much as a
 * piece, and so does waking the listeners. A piece that arrives alone gets its own transaction. If one fails, each runs
 * again alone, so that none blocks another; a piece must therefore be repeatable. Where it is unknown whether they were
 * stored, none runs again.
 */
export function createBatcher(
  transact: <T>(work: Work<T>) => Promise<T>,
  { transactAlone, mustRepeat }: BatcherOptions = { transactAlone: transact, mustRepeat: () => false },
): <T>(work: Work<T>, stage?: StageId) => Promise<T> {
  const waiting: Piece[] = [];
  let isDue = false;

  function begin(): void {
    isDue = true;
    const taken: Piece[] = [];
    transact(async (tx) => {
      const reported: (() => void)[] = [];
      for (let piece = waiting.shift(); piece !== undefined; piece = waiting.shift()) {
        taken.push(piece);
        reported.push(await piece.run(tx));
        if (taken.length === MAX) break;
      }
      return reported;
    })
      .then((reported) => {
        for (const notify of reported) notify();
      })
      .catch((error: unknown) => {
        const failed = taken.length > 0 ? taken : waiting.splice(0, 1); // empty if the transaction could not even begin
        for (const piece of failed) {
          const isRepeated = mustRepeat(error) || (failed.length > 1 && !isOutcomeUnknown(error));
          if (isRepeated) piece.alone();
          else piece.fail(error);
        }
      })
      .finally(() => {
        isDue = false;
        if (waiting.length > 0) begin();
      });
  }

  return (work, stage) =>
    new Promise((resolve, reject) => {
      waiting.push({
        run: async (tx) => {
          const done = await work(tx);
          return () => resolve(done);
        },
        fail: reject,
        alone: () => void transactAlone(work, stage).then(resolve, reject),
      });
      if (!isDue) begin();
    });
}
