import { BoardEvent, type LaunchId, type NewEvent } from '@callboard/contract';
import {
  DatabaseUnreachable,
  outcomeUnknown,
  type StorageError,
  storageErrorOf,
  storageFailed,
} from '@callboard/orchestrator/storage-error';
import {
  createKeyedMutex,
  type Database,
  type Draft,
  type GivenRows,
  type Logger,
  type OutboxRow,
  type Subscribers,
  toRow,
} from '@callboard/orchestrator/store';
import { messageOf } from '@callboard/runtime/errors';
import { sql } from 'kysely';
import pg from 'pg';
import { z } from 'zod';
import type { LinkResult, PgLink } from './pg-link.ts';

const Commit = z.object({ commit: z.int() });

/** More than can be used within the moment that a crash loses. */
export const SKIPPED = 1_000_000_000;

/** Any number that nobody else locks: `migrate.ts` and `fill-index.ts` have the two before it. */
const LOCK = 4_822_551_622;

/**
 * Waits for all write transactions that run, and keeps others from beginning until this one ends. The row is locked as well, for older
 * releases, which know no other lock.
 */
export const LOCK_ALL = `select pg_advisory_xact_lock(${LOCK}); select from cluster_state where id = 1 for update`;

/** Keeps out those that lock all, and nobody else. Waiters are served in order, so neither kind starves. */
const LOCK_SHARED = `select pg_advisory_xact_lock_shared(${LOCK})`;

const UNKNOWN: StorageError = {
  isDiskFull: false,
  isDoubtful: false,
  isLasting: false,
  text: 'the database cannot be reached.',
};

/**
 * Finds out what became of a commit whose connection was cut while it ran. The row of this process in `writers` tells it, once
 * the lock is free: nobody else changes that row.
 * @param notifyOf tells the listeners of a commit that was made, by its number
 */
export function createCutCommits(writerId: string, notifyOf: (draft: Draft, commit: number) => Promise<void>) {
  /** `after`: the newest commit of this process before it. */
  let open: { after: number; settle: (commit: number | null) => Promise<void>; giveUp: () => void } | null = null;
  let isOver = false;

  function giveUp(): void {
    isOver = true;
    open?.giveUp();
    open = null;
  }

  return {
    /** Whether it is unknown what became of a commit. */
    isOpen: () => open !== null,
    /**
     * Resolves when the next connection tells that it was committed.
     * @throws OperationalError `storage_failed` if it was not; `no_confirmation` if the store is closed before anybody knows
     */
    later<T>({ draft, after }: { draft: Draft; after: number }, value: T, cause: unknown): Promise<T> {
      const { promise, resolve, reject } = Promise.withResolvers<T>();
      promise.catch(() => undefined); // whoever began the transaction gets it
      open = {
        after,
        async settle(commit) {
          if (commit === null) return reject(storageFailed(storageErrorOf(cause) ?? UNKNOWN, cause));
          await notifyOf(draft, commit);
          resolve(value);
        },
        giveUp: () => reject(outcomeUnknown(cause)),
      };
      if (isOver) giveUp();
      return promise;
    },
    /** For each new connection: registers this process, and settles what is open. A commit that is found is on disk then. */
    async greet(link: PgLink): Promise<void> {
      const id = pg.escapeLiteral(writerId);
      const [, , , added, row] = await link.queryAll(`begin; ${LOCK_ALL};
        insert into writers (id, "commit") values (${id}, 0) on conflict do nothing;
        select "commit" from writers where id = ${id}; commit`);
      const { commit } = Commit.parse(row?.rows[0]);
      const settled = open;
      // A row that was forgotten tells nothing.
      if (added?.rowCount === 1) settled?.giveUp();
      else await settled?.settle(commit > settled.after ? commit : null);
      if (open === settled) open = null; // not before: if its news cannot be passed on, the next connection settles it
    },
    /** No connection will come any more that could tell what became of it, now or later. */
    giveUp,
  };
}

/** A moment of the store: its newest commit and event, and how many transactions have locked all others out. */
export interface Moment {
  commit: number;
  seq: number;
  alone: number;
}

export const Moment = z.object({ commit: z.int(), seq: z.int(), alone: z.int() });

/** Columns of `cluster_state` that make a `Moment`. */
const MOMENT = '"commit", seq, alone';

/** A machine whose lease has ended must not write: its epoch is compared at the start of each transaction. */
export interface Fence {
  machineId: string;
  epoch: number;
}

/**
 * What a transaction keeps from running beside it. `all`: every other one, so what it reads stays true. `stages`: those that lock all; it
 * writes only what belongs to stages of this machine, which nobody else writes meanwhile.
 */
export type Locking = 'all' | 'stages';

/** A transaction whose work is done. */
export interface Done {
  draft: Draft;
  locking: Locking;
  /** What it has emitted, at this instant. */
  emitted: readonly NewEvent[];
  at: string;
}

/** Where others hear of commits: of their numbers, and which of them only changed what belongs to stages. */
export const CHANNEL = 'callboard_commit';
const OF_STAGES = ' of stages';

/** What others hear of a commit. */
export function heardOf(payload: string): { commit: number; isOfStages: boolean } {
  const isOfStages = payload.endsWith(OF_STAGES);
  return { commit: Number(isOfStages ? payload.slice(0, -OF_STAGES.length) : payload), isOfStages };
}

/** One round trip. Each statement sees what was committed before it, so the epoch is read after the lock is taken. */
export const beginning = (fence: Fence | null, locking: Locking): string =>
  [
    'begin',
    ...(locking === 'all' ? [LOCK_ALL] : [LOCK_SHARED, 'select']), // as many results
    ...(fence === null ? ['select'] : [`select epoch from machines where id = ${pg.escapeLiteral(fence.machineId)}`]),
    `select ${MOMENT}, version from cluster_state where id = 1`,
  ].join(';');

/** Of the results of `closing`, the one that has the moment of the commit. */
export const momentOf = (results: readonly LinkResult[]): Moment =>
  Moment.parse(results.find(({ command, rows }) => command === 'UPDATE' && rows.length === 1)?.rows[0]);

/**
 * One round trip: the events, the news for others, and the commit. The row of `cluster_state` is locked from here on and no earlier, so
 * that events have numbers without gaps, in the order of the commits. It stays locked until the commit is synced, since an asynchronous
 * commit with a sync behind it would be seen by others before it is on the disk, or on the standbys.
 */
export function closing({ draft, locking, emitted, at }: Done, writerId: string): string {
  const text = pg.escapeLiteral;
  const count = emitted.length;
  const rows = emitted.map(
    ({ type, data }, nth) => `(${nth - count + 1},${text(at)},${text(type)},${text(JSON.stringify(data))})`,
  );
  const given = [...draft.given.values()].filter(({ launchId }) => launchId !== null);
  const updates = given.map(({ id, launchId }) => `(${text(id)},${text(launchId ?? '')})`);
  return [
    ...(draft.isSynced() ? [] : ['set local synchronous_commit = off']),
    `update cluster_state set "commit" = "commit" + 1, seq = seq + ${count}${locking === 'all' ? ', alone = alone + 1' : ''}
       where id = 1 returning ${MOMENT}`,
    ...(count === 0
      ? []
      : [
          `insert into events (seq, at, type, data) select s.seq + e.nth, e.at, e.type, e.data
             from cluster_state s, (values ${rows.join()}) e (nth, at, type, data)`,
        ]),
    ...(updates.length === 0
      ? []
      : [
          `insert into given_rows ("commit", row_id, launch_id) select s."commit", g.row_id, g.launch_id
             from cluster_state s, (values ${updates.join()}) g (row_id, launch_id)`,
        ]),
    `insert into writers (id, "commit") select ${text(writerId)}, "commit" from cluster_state
       on conflict (id) do update set "commit" = excluded."commit", at = now()`,
    `select pg_notify('${CHANNEL}', "commit" || '${locking === 'all' ? '' : OF_STAGES}') from cluster_state`,
    'commit',
  ].join(';');
}

interface PassOnDeps {
  db: Database;
  subscribers: Subscribers;
  seen: SeenLaunches;
  log: Logger;
  requireNothingLost: RequireNothingLost;
  /** Whether it is unknown what became of a commit of this process. */
  hasUnknown: () => boolean;
  /** Everything up to it is passed on already. */
  from: Moment;
}

export type PassOn = ReturnType<typeof createPassOn>;

/** Events read at once, and their size from which on no further one is read with them. */
const PAGE = 500;
const PAGE_BYTES = 1024 * 1024;

/** Passes on what was committed, by this process and by others: rows to their launches, then events, each once and in order. */
export function createPassOn({ db, subscribers, seen, log, requireNothingLost, hasUnknown, from }: PassOnDeps) {
  const mutex = createKeyedMutex();
  const alone = <T>(work: () => Promise<T>): Promise<T> => mutex('passing on', work);
  const foreign = new Set<() => void>();
  const epochs = new Set<() => void>();
  const late = createLateRows();
  let done: Moment = { ...from };
  /** Also if the events could not be read at first, so that the epoch is told once they can. */
  let isNewEpoch = false;
  let mustRead = false;

  /** Reads and passes on everything up to a moment. Call within `alone`. */
  async function passOnUntil({ commit, seq, alone: locked }: Moment): Promise<void> {
    if (commit <= done.commit && seq <= done.seq) return;
    if (commit - done.commit >= SKIPPED) {
      await requireNothingLost(done.commit);
      isNewEpoch = true;
    }
    // A transaction of stages gives rows to launches of its own machine alone.
    const isShared = locked !== done.alone;
    const given =
      isShared || mustRead || late.isDue(commit)
        ? await readGiven(db, subscribers.takenLaunches(), [done.commit, commit])
        : new Map();
    give(late.among(given, commit));
    done = { ...done, commit: Math.max(commit, done.commit), alone: Math.max(locked, done.alone) };
    late.forget(commit);
    mustRead = false;
    for (let isWhole = done.seq >= seq; !isWhole; ) {
      const events = await readEvents(db, [done.seq, seq]);
      publish(events);
      isWhole = events.length === 0 || done.seq >= seq; // pruned or skipped ones are missing
    }
    done = { ...done, seq: Math.max(seq, done.seq) };
    const reported = isNewEpoch ? epochs : [];
    isNewEpoch = false;
    subscribers.run([...(isShared ? foreign : []), ...reported]);
  }

  function give(given: readonly { commit: number; rows: GivenRows }[]): void {
    for (const rows of seen.unseen(given)) subscribers.give(rows);
  }

  function publish(events: readonly BoardEvent[]): void {
    subscribers.publish(events);
    done = { ...done, seq: events.at(-1)?.seq ?? done.seq };
  }

  return {
    /** Runs work while nobody else passes anything on: a commit of this process, and what it has to tell. */
    alone,
    /** The newest commit that was passed on. */
    newest: () => done.commit,
    /** Whether a commit is passed on, once whatever passes something on now is through. */
    isKnown: (commit: number) =>
      commit <= done.commit ? Promise.resolve(true) : alone(async () => commit <= done.commit),
    /** Whether everything up to a moment is passed on. */
    isUpTo: ({ commit, seq }: Moment) => commit === done.commit && seq === done.seq,
    /** Passes on a commit of this process without reading it. Call within `alone`, if everything before is passed on. */
    own({ commit, alone: locked }: Moment, given: GivenRows, events: readonly BoardEvent[]): void {
      give([{ commit, rows: given }]);
      done = { ...done, commit, alone: locked };
      publish(events);
    },
    /** A commit of this process may be among those that are passed on next. */
    readNext(): void {
      mustRead = true;
    },
    /** Keeps what only this process knows of a commit of its own until it is passed on. Call within `alone`. */
    ownLater: late.save,
    passOnUntil,
    /**
     * Looks for commits of others. Failures are logged: the next look finds the same. One whose connection was cut may be visible
     * before the standbys have it: whoever finds out what became of it passes on all.
     */
    check: () =>
      alone(async () => {
        try {
          const now = await momentNow(db);
          if (!hasUnknown()) await passOnUntil(now);
        } catch (error) {
          log.debug({ reason: messageOf(error) }, 'no look at the commits of others');
        }
      }),
    /** Calls the listener when a new epoch of the event log has begun: events that were not passed on before are gone. */
    onEpoch: listenersIn(epochs),
    onForeignCommit: listenersIn(foreign),
  };
}

/** Returns the newest moment that is committed. */
export const momentNow = async (db: Database): Promise<Moment> =>
  db.selectFrom('cluster_state').select(['commit', 'seq', 'alone']).executeTakeFirstOrThrow();

/** The rows that the commits after one and up to another have given to launches. */
async function readGiven(
  db: Database,
  launches: readonly string[],
  [after, until]: readonly [number, number],
): Promise<Map<number, GivenRows>> {
  if (launches.length === 0) return new Map();
  const rows = await db
    .selectFrom('given_rows')
    .innerJoin('outbox', 'outbox.id', 'given_rows.row_id')
    .selectAll('outbox')
    .select('given_rows.commit')
    .where('given_rows.commit', '>', after)
    .where('given_rows.commit', '<=', until)
    .where('given_rows.launch_id', 'in', launches)
    .where(sql.ref('outbox.launch_id'), '=', sql.ref('given_rows.launch_id'))
    .where('outbox.state', '=', 'accepted')
    .execute();
  const commits = Map.groupBy(rows, (row) => row.commit);
  return new Map([...commits].map(([commit, given]) => [commit, new Map(given.map((row) => [row.id, toRow(row)]))]));
}

/** Reads a page of the events after one and up to another, in one round trip. */
async function readEvents(db: Database, [after, until]: readonly [number, number]): Promise<BoardEvent[]> {
  const { rows } = await sql<{ seq: number; at: string; type: string; data: string }>`
    select seq, at, type, data from (
      select *, sum(octet_length(data)) over (order by seq) - octet_length(data) as before
      from events where seq > ${after} and seq <= ${until} order by seq limit ${PAGE}) page
    where before < ${PAGE_BYTES} order by seq`.execute(db);
  return rows.map((row) => BoardEvent.parse({ ...row, data: JSON.parse(row.data) }));
}

const listenersIn =
  (listeners: Set<() => void>) =>
  (listener: () => void): (() => void) => {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  };

/**
 * The rows of own commits that wait for the commits of others before them. A query finds the accepted ones; those that are stored as
 * written are known to this process alone, which has not written them yet.
 */
function createLateRows() {
  const late = new Map<number, GivenRows>();
  return {
    save(commit: number, given: GivenRows): void {
      const written = [...given].filter(([, { state }]) => state === 'written');
      if (given.size > 0) late.set(commit, new Map(written));
    },
    /** Whether there are any up to this commit. */
    isDue: (until: number): boolean => late.keys().some((commit) => commit <= until),
    /** What was read of commits up to one of them, with the rows that are kept, in the order of the commits. */
    among(read: ReadonlyMap<number, GivenRows>, until: number): { commit: number; rows: GivenRows }[] {
      const all = new Map(read);
      for (const [commit, rows] of late)
        if (commit <= until) all.set(commit, new Map([...(all.get(commit) ?? []), ...rows]));
      return [...all].map(([commit, rows]) => ({ commit, rows })).toSorted((a, b) => a.commit - b.commit);
    },
    /** Those up to this commit are passed on. */
    forget(until: number): void {
      for (const commit of late.keys()) if (commit <= until) late.delete(commit);
    },
  };
}

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

export type SeenLaunches = ReturnType<typeof createSeenLaunches>;

/**
 * Knows up to which commit the accepted rows of a launch were listed by whoever writes them. A row that is in such a list must not
 * come a second time as news: the two come over different connections, in any order.
 */
export function createSeenLaunches() {
  const listed = new Map<LaunchId, number>();
  return {
    /** All accepted rows of the launch were listed as of this commit. */
    note(launchId: LaunchId, commit: number): void {
      listed.set(launchId, Math.max(commit, listed.get(launchId) ?? 0));
    },
    forget: (launchId: LaunchId) => void listed.delete(launchId),
    /** The rows that were in no list, in the order of their commits. One that is stored as written is in none of accepted ones. */
    unseen(given: readonly { commit: number; rows: GivenRows }[]): GivenRows[] {
      const isUnseen = (commit: number, { launchId, state }: OutboxRow) =>
        launchId === null || state === 'written' || commit > (listed.get(launchId) ?? 0);
      return given.map(({ commit, rows }) => new Map([...rows].filter(([, row]) => isUnseen(commit, row))));
    },
  };
}
