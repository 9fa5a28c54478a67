import type { LaunchId } from '@callboard/contract';
import { createReconciler, type Reconciler } from '@callboard/runtime/reconciler';
import { createBackoff } from '@callboard/runtime/waits';
import { AppError } from '../../lib/errors.ts';
import type { Platform } from '../../platform/runtime.ts';
import type { OutboxRow } from '../../store/records.ts';
import type { Store, Tx } from '../../store/store.ts';
import type { Channel } from '../claude/channel.ts';
import { encodeRow } from '../claude/frames.ts';
import { requestOf, setDelivery } from '../session/requests.ts';

/** An answer whose echo was faster is confirmed already, and stays so. */
async function markWritten(tx: Tx, row: OutboxRow, at: string): Promise<void> {
  await tx.outbox.setWritten(row, at);
  if (row.kind !== 'answer') return;
  const stored = await requestOf(tx, row);
  if (stored?.decision?.delivery === 'accepted') await setDelivery(tx, stored, 'written');
}

/** Up to this many bytes, a write into a pipe is atomic (PIPE_BUF). */
const ATOMIC_BYTES = 4096;
/** How long a mark waits for another transaction of its session to join. */
const MARK_WAIT_MS = 100;

export interface OutboxWriterDeps {
  store: Store;
  platform: Pick<Platform, 'now'>;
  channel: Channel;
  launchId: LaunchId;
  /** False while another machine may count this one as gone: nothing is written then. Schedule when that is over. */
  mayWrite?: (() => boolean) | undefined;
  /** What must be done before a message is written; undefined if nothing must. If it rejects, the message is not written now. */
  beforeMessage?: ((row: OutboxRow) => Promise<void> | undefined) | undefined;
  /** The process no longer reads. */
  onGone: () => void;
  onError: (error: unknown) => void;
}

/**
 * Writes the outbox of a launch. `schedule` makes it query the store for rows that it was not handed: at the start, and once this
 * machine may write again. After a failure it does so by itself; `schedule` shortens the wait.
 */
export interface OutboxWriter extends Omit<Reconciler, 'scheduleIn'> {
  /** Takes rows that were just committed. If nothing waits before them, the first line is in the pipe when this returns. */
  take(rows: readonly OutboxRow[]): void;
  /** Whether a row that is given now is written right after its commit, so a control request may be stored as `written`. */
  takesAtOnce(): boolean;
  /** Stores in the caller's transaction which rows were written since. */
  markIn(tx: Tx): Promise<void>;
  /** Resolves when all written rows are marked. @throws OperationalError `storage_failed` */
  mark(): Promise<void>;
}

/**
 * Writes the launch's accepted rows in order, one after another. The replay rule of each kind covers a crash between any
 * two steps: a message or an answer that was written but not marked is written again, which the CLI ignores, so its mark
 * may wait a moment for a transaction that comes anyway; a control request is marked first, so it is never written twice.
 */
export function createOutboxWriter(deps: OutboxWriterDeps): OutboxWriter {
  const { store, platform, channel, launchId, mayWrite = () => true, beforeMessage, onGone, onError } = deps;
  /** The next rows, known without a query. */
  let handed: readonly OutboxRow[] = [];
  /** The store may have accepted rows that were not handed over: from before the start, behind a waiting line, or after a failure. */
  let mustCheckStore = true;
  let state: 'resting' | 'writing' | 'stopped' = 'resting';
  const marks = createMarks(store, onError);
  const backoff = createBackoff(RETRY_BACKOFF);

  async function writeRow(row: OutboxRow): Promise<void> {
    const line = encodeRow(row);
    const before = row.kind === 'message' ? beforeMessage?.(row) : undefined;
    if (before !== undefined) await before;
    if (row.kind === 'control') return writeControl(deps, row, line);
    // A crash can tear a longer line; the mark keeps anyone from writing behind half a line.
    const isLong = Buffer.byteLength(line) > ATOMIC_BYTES;
    if (isLong) await store.transact((tx) => tx.outbox.setWriting(row.id), { sync: 'later', stage: row.stageId });
    await channel.write(line);
    marks.add(row, platform.now().toISOString());
    if (isLong) await marks.store();
    else marks.storeSoon();
  }

  const next = (waiting: OutboxRow[]): OutboxRow | undefined => (mayWrite() ? waiting.shift() : undefined);

  /** Leaves rows for the next pass. The store finds those again that it does not call written. */
  function save(waiting: readonly OutboxRow[]): void {
    mustCheckStore = true;
    handed = [...waiting.filter(isMarked), ...handed];
  }

  /** Awaits nothing before it writes the first row that was handed over. */
  async function pass(): Promise<void> {
    if (state === 'stopped') return;
    state = 'writing';
    let waiting: OutboxRow[] = [];
    try {
      waiting = [...(mustCheckStore ? await readStore() : []), ...handed].toSorted((a, b) => a.ordinal - b.ordinal);
      handed = [];
      for (let row = next(waiting); row !== undefined; row = next(waiting)) await writeRow(row);
      if (waiting.length > 0) save(waiting);
      state = 'resting';
      backoff.reset();
    } catch (error) {
      save(waiting);
      const isGone = error instanceof AppError && error.code === 'process_gone';
      state = isGone ? 'stopped' : 'resting';
      if (isGone) return onGone();
      passes.scheduleIn(backoff.next());
      throw error;
    }
  }

  async function readStore(): Promise<OutboxRow[]> {
    mustCheckStore = false; // rows that are committed during the query may be missing in its result and need another one
    const known = new Set([...marks.ids(), ...handed.map(({ id }) => id)]);
    return (await store.read.outbox.listOf(launchId, ['accepted'])).filter(({ id }) => !known.has(id));
  }

  const passes = createReconciler(pass, onError);
  return {
    markIn: marks.storeIn,
    mark: marks.store,
    takesAtOnce: () => state === 'resting' && !mustCheckStore && handed.length === 0 && mayWrite(),
    take(rows) {
      if (state !== 'resting' || mustCheckStore) mustCheckStore = true;
      handed = [...handed, ...(mustCheckStore ? rows.filter(isMarked) : rows)];
      passes.schedule();
    },
    schedule: () => void (mustCheckStore && passes.schedule()),
    async drain() {
      await passes.drain();
      await marks.store().catch(onError);
    },
    async stop() {
      await passes.stop();
      marks.stop();
      state = 'stopped';
    },
  };
}

async function writeControl({ store, channel }: OutboxWriterDeps, row: OutboxRow, line: string): Promise<void> {
  if (row.state === 'accepted')
    await store.transact((tx) => markWritten(tx, row, tx.now), { sync: 'later', stage: row.stageId });
  return channel.write(line);
}

/** Nobody else schedules a retry of what failed; a store that works again makes it due at once. */
const RETRY_BACKOFF = { firstMs: 250, maxMs: 10_000 };

/** Rows that were written and that the store still calls accepted. */
function createMarks(store: Store, onError: (error: unknown) => void) {
  const unmarked = new Map<string, { row: OutboxRow; at: string }>();
  let timer: NodeJS.Timeout | undefined;

  async function storeIn(tx: Tx): Promise<void> {
    const written = [...unmarked.values()];
    for (const { row, at } of written) await markWritten(tx, row, at);
    if (written.length > 0)
      tx.afterCommit(() => {
        for (const { row } of written) unmarked.delete(row.id);
      });
  }

  async function storeAll(): Promise<void> {
    const [first] = unmarked.values();
    if (first !== undefined) await store.transact(storeIn, { sync: 'later', stage: first.row.stageId });
  }

  return {
    add: (row: OutboxRow, at: string): void => void unmarked.set(row.id, { row, at }),
    ids: () => unmarked.keys(),
    storeIn,
    store: storeAll,
    storeSoon(): void {
      timer ??= setTimeout(() => {
        timer = undefined;
        storeAll().catch(onError); // retried with the next transaction of the session
      }, MARK_WAIT_MS).unref();
    },
    stop: (): void => clearTimeout(timer),
  };
}

/** Whether a row is stored as written when it is given; a query for accepted rows does not find such a row. */
const isMarked = ({ state }: OutboxRow): boolean => state === 'written';
