import type { BoardEvent } from '@callboard/contract';
import { messageOf } from '@callboard/runtime/errors';
import { sql } from 'kysely';
import { createKeyedMutex } from '../../lib/keyed-mutex.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Database } from '../sql/database.ts';
import type { Subscribers } from '../sql/subscribers.ts';
import { eventsTable } from '../sql/tables/events.ts';
import { type GivenRows, toRow } from '../sql/tables/outbox-row.ts';
import { SKIPPED } from './begin-epoch.ts';
import type { Moment } from './commit-statements.ts';
import type { RequireNothingLost } from './lost-commits.ts';
import type { SeenLaunches } from './seen-launches.ts';

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
