import { mark } from '@callboard/runtime/marks';
import type { Kysely } from 'kysely';
import { z } from 'zod';
import type { Platform } from '../../lib/edges.ts';
import { OperationalError } from '../../lib/errors.ts';
import { createDraft } from '../sql/draft.ts';
import { createRowCaches } from '../sql/known-rows.ts';
import { runOn, type Wire } from '../sql/prepared.ts';
import type { Schema } from '../sql/schema.ts';
import type { Subscribers } from '../sql/subscribers.ts';
import { DatabaseUnreachable, type StorageError, storageErrorOf } from '../storage-failure.ts';
import type { CommitOptions, Tx } from '../store.ts';
import { beginning, closing, type Done, type Fence, type Moment } from './commit-statements.ts';
import { createCutCommits } from './cut-commits.ts';
import type { LinkConnection } from './keep-link.ts';
import { requireKnownVersion } from './migrate.ts';
import type { PassOn } from './pass-on.ts';
import { kyselyOn, nameOf, type Transactions } from './pg-dialect.ts';
import type { PgLink } from './pg-link.ts';

/** A transaction that was run. `result` stays open while it is not known what became of the commit. */
export interface Run<T> {
  result: Promise<T>;
  storageError: StorageError | null;
}

interface WriterDeps {
  connection: () => LinkConnection;
  passOn: () => PassOn;
  platform: Platform;
  diskPauseReason: Tx['diskPauseReason'];
  subscribers: Subscribers;
  /** Names this process in the database. */
  writerId: string;
  onUnsynced: () => void;
}

const State = z.object({ commit: z.int(), seq: z.int() });
const Epoch = z.object({ epoch: z.int() });

/** What is known of the transaction that runs. */
interface Step extends Done {
  hasWritten: boolean;
  isCommitting: boolean;
}

interface WriterState {
  fence: Fence | null;
  /** Null while none runs. */
  step: Step | null;
}

/** Runs write transactions, one at a time over all machines: each begins by locking the one row of `cluster_state`. */
export function createWriter(deps: WriterDeps) {
  const { writerId } = deps;
  const known = createRowCaches();
  /** The number of the commit whose state is cached. */
  let cachedAt = -1;
  let newest = 0;
  const state: WriterState = { fence: null, step: null };
  const cut = createCutCommits(writerId, (done) => deps.passOn().alone(() => notifyOf(done, deps)));
  const databaseOn = databasesOf(state, deps);

  async function run<T>(work: (tx: Tx) => Promise<T>, { sync = 'now' }: CommitOptions = {}): Promise<Run<T>> {
    const link = await deps.connection().link();
    const now: Step = {
      draft: createDraft(deps, sync),
      begun: { commit: 0, seq: 0 },
      hasWritten: false,
      isCommitting: false,
      commit: 0,
      events: [],
    };
    state.step = now;
    let result: { value: T } | undefined;
    const rows = known.begin();
    try {
      await databaseOn(link)
        .transaction()
        .execute(async (trx) => {
          if (now.begun.commit !== cachedAt) known.clear();
          cachedAt = now.begun.commit;
          const stop = runOn(trx, wireOf(link, now));
          const tx = now.draft.txOn(trx, rows);
          result = { value: await work(tx).finally(stop) };
          now.events = now.draft.events().map((event, at) => ({ ...event, seq: now.begun.seq + 1 + at, at: tx.now }));
          now.commit = now.begun.commit + (now.hasWritten || now.events.length > 0 ? 1 : 0);
        });
    } catch (error) {
      if (!now.isCommitting || !link.isBroken() || result === undefined || now.commit === now.begun.commit) throw error;
      cachedAt = -1;
      return { result: cut.later(now, result.value, error), storageError: storageErrorOf(error) };
    } finally {
      state.step = null;
    }
    if (result === undefined) throw new Error('the work has not run');
    rows.commit();
    cachedAt = now.commit;
    newest = Math.max(newest, now.commit);
    return { result: Promise.resolve(result.value), storageError: null };
  }

  return {
    run,
    /** The newest commit of this process. */
    newest: () => newest,
    setFence(wanted: Fence): void {
      state.fence = wanted;
    },
    greet: cut.greet,
    hasUnknown: cut.isOpen,
    giveUp: cut.giveUp,
  };
}

/** Returns the function that makes Kysely run the writer's transactions on a connection. */
function databasesOf(state: WriterState, deps: WriterDeps): (link: PgLink) => Kysely<Schema> {
  const databases = new WeakMap<PgLink, Kysely<Schema>>();
  const current = (): Step => {
    if (state.step === null) throw new Error('no transaction runs');
    return state.step;
  };
  const transactions: Transactions = {
    async begin(link) {
      try {
        current().begun = await begin(link, state.fence);
      } catch (error) {
        await link.rollback();
        throw error;
      }
    },
    commit: (link) =>
      deps.passOn().alone(async () => {
        const step = current();
        // The connection that follows may be there already, and would never be asked what became of this commit.
        if (link.isBroken()) throw new DatabaseUnreachable('the connection broke before the commit');
        step.isCommitting = true;
        const hasUpdates = step.commit > step.begun.commit;
        mark('commit begun');
        const results = await link.queryAll(hasUpdates ? closing(step, deps.writerId) : 'commit');
        if (results.at(-1)?.command !== 'COMMIT') throw new Error('a statement of the transaction had failed');
        mark('committed');
        await notifyOf(step, deps);
      }),
    rollback: (link) => link.rollback(),
  };
  return (link) => {
    const links = { acquire: async () => link, release: () => undefined, replace: null };
    const made =
      databases.get(link) ??
      kyselyOn(links, transactions, () => {
        current().hasWritten = true;
      });
    databases.set(link, made);
    return made;
  };
}

/** Prepared queries of a transaction on its connection. */
const wireOf = (link: PgLink, step: Step): Wire => ({
  async ask(text, values, isWrite) {
    step.hasWritten ||= isWrite;
    return (await link.query({ text, values, ...nameOf(text) })).rows;
  },
  send(text, values) {
    step.hasWritten = true;
    link.queryLater({ text, values, ...nameOf(text) });
  },
});

async function begin(link: PgLink, fence: Fence | null): Promise<Moment> {
  const [, found, machine] = await link.queryAll(beginning(fence));
  requireKnownVersion(found?.rows[0]);
  const { commit, seq } = State.parse(found?.rows[0]);
  if (fence !== null && Epoch.safeParse(machine?.rows[0]).data?.epoch !== fence.epoch) throw leaseLost();
  return { commit, seq };
}

/** Tells of what was committed: rows to their launches, then events, then hints. Call within `alone`. */
async function notifyOf(
  { commit, begun, draft, events }: Done,
  { passOn: givenPassOn, subscribers, onUnsynced }: Pick<WriterDeps, 'passOn' | 'subscribers' | 'onUnsynced'>,
): Promise<void> {
  const passOn = givenPassOn();
  if (!draft.isSynced()) {
    onUnsynced();
    subscribers.reportUnsynced();
  }
  // If the commits of others cannot be read now, the next look passes on theirs and this one.
  if (!passOn.isUpTo(begun)) await passOn.passOnUntil(begun).catch(() => undefined);
  if (commit > begun.commit) {
    if (passOn.isUpTo(begun)) passOn.own(commit, draft.given, events);
    else passOn.ownLater(commit, draft.given);
  }
  subscribers.run(draft.hints);
}

const leaseLost = () =>
  new OperationalError(
    'lease_lost',
    'Another machine has taken over what this one did, so this could not be stored. Restart Callboard on this machine.',
  );
