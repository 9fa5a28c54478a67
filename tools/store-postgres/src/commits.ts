import type { BoardEvent, LaunchId } from '@callboard/contract';
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
  eventsTable,
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
import { SKIPPED } from './migrate.ts';
import type { PgLink } from './pg-link.ts';

const Commit = z.object({ commit: z.int() });

const UNKNOWN: StorageError = {
  isDiskFull: false,
  isDoubtful: false,
  isLasting: false,
  text: 'the database cannot be reached.',
};

/**
 * Finds out what became of a commit whose connection was cut while it ran. The row of this process in `writers` tells it, once
 * the lock is free: nobody else changes that row.
 * @param notifyOf tells the listeners of a commit that was made
 */
export function createCutCommits(writerId: string, notifyOf: (done: Done) => Promise<void>) {
  let open: { commit: number; settle: (isCommitted: boolean) => Promise<void>; giveUp: () => void } | null = null;
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
    later<T>(done: Done, value: T, cause: unknown): Promise<T> {
      const { promise, resolve, reject } = Promise.withResolvers<T>();
      promise.catch(() => undefined); // whoever began the transaction gets it
      open = {
        commit: done.commit,
        async settle(isCommitted) {
          if (!isCommitted) return reject(storageFailed(storageErrorOf(cause) ?? UNKNOWN, cause));
          await notifyOf(done);
          resolve(value);
        },
        giveUp: () => reject(outcomeUnknown(cause)),
      };
      if (isOver) giveUp();
      return promise;
    },
    /** For each new connection: registers this process, and settles what is open. */
    async greet(link: PgLink): Promise<void> {
      const id = pg.escapeLiteral(writerId);
      const [, , added, row] = await link.queryAll(`begin; select 1 from cluster_state where id = 1 for update;
        insert into writers (id, "commit") values (${id}, 0) on conflict do nothing;
        select "commit" from writers where id = ${id}; commit`);
      const settled = open;
      // A row that was forgotten tells nothing.
      if (added?.rowCount === 1) settled?.giveUp();
      else await settled?.settle(Commit.parse(row?.rows[0]).commit === settled.commit);
      if (open === settled) open = null; // not before: if its news cannot be passed on, the next connection settles it
    },
    /** No connection will come any more that could tell what became of it, now or later. */
    giveUp,
  };
}

/** A moment of the store: its newest commit and event. */
export interface Moment {
  commit: number;
  seq: number;
}

/** A machine whose lease has ended must not write: its epoch is compared at the start of each transaction. */
export interface Fence {
  machineId: string;
  epoch: number;
}

/** A transaction whose work is done. */
export interface Done {
  draft: Draft;
  /** As it was when the transaction had taken its lock. */
  begun: Moment;
  /** The number of its commit; the one before if it has written nothing. */
  commit: number;
  events: readonly BoardEvent[];
}

/** Where others hear of commits. */
export const CHANNEL = 'callboard_commit';

/** One round trip. Each statement sees what was committed before it, so the epoch is read after the lock is taken. */
export const beginning = (fence: Fence | null): string =>
  [
    'begin',
    'select "commit", seq, version from cluster_state where id = 1 for update',
    ...(fence === null ? [] : [`select epoch from machines where id = ${pg.escapeLiteral(fence.machineId)}`]),
  ].join(';');

/** One round trip: the events, the news for others, and the commit. */
export function closing({ draft, begun, commit, events }: Done, writerId: string): string {
  const text = pg.escapeLiteral;
  const rows = events.map(
    ({ seq, at, type, data }) => `(${seq},${text(at)},${text(type)},${text(JSON.stringify(data))})`,
  );
  const given = [...draft.given.values()].filter(({ launchId }) => launchId !== null);
  const updates = given.map(({ id, launchId }) => `(${commit},${text(id)},${text(launchId ?? '')})`);
  const seq = begun.seq + events.length;
  return [
    ...(draft.isSynced() ? [] : ['set local synchronous_commit = off']),
    ...(rows.length === 0 ? [] : [`insert into events (seq, at, type, data) values ${rows.join()}`]),
    ...(updates.length === 0 ? [] : [`insert into given_rows ("commit", row_id, launch_id) values ${updates.join()}`]),
    `insert into writers (id, "commit") values (${text(writerId)}, ${commit})
       on conflict (id) do update set "commit" = excluded."commit", at = now()`,
    `update cluster_state set "commit" = ${commit}, seq = ${seq} where id = 1`,
    `select pg_notify('${CHANNEL}', '${commit}')`,
    'commit',
  ].join(';');
}

interface PassOnDeps {
  db: Database;
  subscribers: Subscribers;
  seen: SeenLaunches;
  log: Logger;
  requireNothingLost: RequireNothingLost;
  /** Everything up to it is passed on already. */
  from: Moment;
}

export type PassOn = ReturnType<typeof createPassOn>;

/** Events read at once. */
const PAGE = 500;

/** Passes on what was committed, by this process and by others: rows to their launches, then events, each once and in order. */
export function createPassOn({ db, subscribers, seen, log, requireNothingLost, from }: PassOnDeps) {
  const mutex = createKeyedMutex();
  const alone = <T>(work: () => Promise<T>): Promise<T> => mutex('passing on', work);
  const foreign = new Set<() => void>();
  const epochs = new Set<() => void>();
  const late = createLateRows();
  let done: Moment = { ...from };
  /** Also if the events could not be read at first, so that the epoch is told once they can. */
  let isNewEpoch = false;

  /** Reads and passes on everything up to a moment. Call within `alone`. */
  async function passOnUntil({ commit, seq }: Moment): Promise<void> {
    if (commit <= done.commit && seq <= done.seq) return;
    if (commit - done.commit >= SKIPPED) {
      await requireNothingLost(done.commit);
      isNewEpoch = true;
    }
    give(late.among(await readGiven(db, subscribers.takenLaunches(), [done.commit, commit]), commit));
    done = { ...done, commit: Math.max(commit, done.commit) };
    late.forget(commit);
    for (let isWhole = done.seq >= seq; !isWhole; ) {
      const events = (await eventsTable(db).since(done.seq, PAGE)).filter((event) => event.seq <= seq);
      publish(events);
      isWhole = events.length === 0 || done.seq >= seq; // pruned or skipped ones are missing
    }
    done = { commit: done.commit, seq: Math.max(seq, done.seq) };
    const reported = isNewEpoch ? epochs : [];
    isNewEpoch = false;
    subscribers.run([...foreign, ...reported]);
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
    /** Whether everything before a commit of this process is passed on. */
    isUpTo: ({ commit, seq }: Moment) => commit === done.commit && seq === done.seq,
    /** Passes on a commit of this process without reading it. Call within `alone`, if everything before is passed on. */
    own(commit: number, given: GivenRows, events: readonly BoardEvent[]): void {
      give([{ commit, rows: given }]);
      done = { ...done, commit };
      publish(events);
    },
    /** Keeps what only this process knows of a commit of its own until it is passed on. Call within `alone`. */
    ownLater: late.save,
    passOnUntil,
    /** Looks for commits of others. Failures are logged: the next look finds the same. */
    check: () =>
      alone(async () => {
        try {
          const row = await db.selectFrom('cluster_state').select(['commit', 'seq']).executeTakeFirst();
          if (row !== undefined) await passOnUntil(row);
        } catch (error) {
          log.debug({ reason: messageOf(error) }, 'no look at the commits of others');
        }
      }),
    /** Calls the listener when a new epoch of the event log has begun: events that were not passed on before are gone. */
    onEpoch: listenersIn(epochs),
    onForeignCommit: listenersIn(foreign),
  };
}

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
      if (written.length > 0) late.set(commit, new Map(written));
    },
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
