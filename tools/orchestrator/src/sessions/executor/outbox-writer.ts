import type { LaunchId } from '@callboard/contract';
import type { Channel } from '../../claude/launch/channel.ts';
import { encodeRow } from '../../claude/wire/encode.ts';
import { requestOf, setDelivery } from '../../domain/requests.ts';
import type { Edges } from '../../lib/edges.ts';
import { AppError } from '../../lib/errors.ts';
import { createNudgedWorker, type NudgedWorker } from '../../lib/nudged-worker.ts';
import type { OutboxRow } from '../../store/records.ts';
import type { Store, Tx } from '../../store/store.ts';

/** An answer whose echo has overtaken this is confirmed already, and stays so. */
async function markWritten(tx: Tx, row: OutboxRow, at: string): Promise<void> {
  await tx.outbox.setWritten(row, at);
  if (row.kind !== 'answer') return;
  const stored = await requestOf(tx, row);
  if (stored?.decision?.delivery === 'accepted') await setDelivery(tx, stored, 'written');
}

/** Up to this many bytes a write into a pipe is all or nothing (PIPE_BUF). */
const ATOMIC_BYTES = 4096;
/** How long a mark waits for a transaction of its session that it can ride along with. */
const MARK_WAIT_MS = 100;

export interface OutboxWriterParts {
  store: Store;
  edges: Pick<Edges, 'now'>;
  channel: Channel;
  launchId: LaunchId;
  /** The process reads no more. */
  onGone: () => void;
  onError: (error: unknown) => void;
}

/** Writes what a launch is given. `nudge` has it look for what it was not handed: at the beginning, and again after a failure. */
export interface OutboxWriter extends NudgedWorker {
  /** Takes rows whose commit has just returned. Where nothing waits before them, the first line is in the pipe when this returns. */
  take(rows: readonly OutboxRow[]): void;
  /** Whether a row that is given now is written right after its commit. A control request may then be stored as `written`. */
  takesAtOnce(): boolean;
  /** Stores in a transaction of the caller's which rows were written since. */
  markIn(tx: Tx): Promise<void>;
  /** Resolves when all that was written is marked so. @throws OperationalError `storage_failed` */
  mark(): Promise<void>;
}

/**
 * Writes the launch's accepted rows, in their order, one after another. A crash between any two steps is made good by
 * the replay rule of the kind: a message or an answer that was written but not marked is written again, which the CLI
 * ignores, so its mark may wait a moment for a transaction that comes anyway; a control request is marked first, so that
 * it is never written twice.
 */
export function createOutboxWriter(parts: OutboxWriterParts): OutboxWriter {
  const { store, edges, channel, launchId, onGone, onError } = parts;
  /** Rows that are next, known without a look into the store. */
  let handed: readonly OutboxRow[] = [];
  /** Accepted rows may be in the store that were not handed over: from before this began, behind a line that waits, or after a failure. */
  let mustLook = true;
  let state: 'resting' | 'writing' | 'stopped' = 'resting';
  /** What was written, and when, that the store calls accepted. */
  const unmarked = new Map<string, { row: OutboxRow; at: string }>();
  let timer: NodeJS.Timeout | undefined;

  async function writeRow(row: OutboxRow): Promise<void> {
    const line = encodeRow(row);
    if (row.kind === 'control') {
      if (row.state === 'accepted') await store.transact((tx) => markWritten(tx, row, tx.now), { sync: 'later' });
      return channel.write(line);
    }
    // A longer line can be torn by a crash in the middle; whoever finds the mark does not write behind half a line.
    const isLong = Buffer.byteLength(line) > ATOMIC_BYTES;
    if (isLong) await store.transact((tx) => tx.outbox.setWriting(row.id), { sync: 'later' });
    await channel.write(line);
    unmarked.set(row.id, { row, at: edges.now().toISOString() });
    if (isLong) await mark();
    else markSoon();
  }

  /** Does not wait for anything before the first of the rows that were handed over. */
  async function pass(): Promise<void> {
    if (state === 'stopped') return;
    state = 'writing';
    let waiting: OutboxRow[] = [];
    try {
      const found = mustLook ? await lookIntoStore() : [];
      waiting = [...found, ...handed].toSorted((a, b) => a.ordinal - b.ordinal);
      handed = [];
      for (let row = waiting.shift(); row !== undefined; row = waiting.shift()) await writeRow(row);
      state = 'resting';
    } catch (error) {
      mustLook = true;
      handed = waiting.filter(isMarked);
      const isGone = error instanceof AppError && error.code === 'process_gone';
      state = isGone ? 'stopped' : 'resting';
      if (!isGone) throw error;
      onGone();
    }
  }

  async function lookIntoStore(): Promise<OutboxRow[]> {
    mustLook = false; // what is committed during the look may be missing in it, and has to be looked for again
    const known = new Set([...unmarked.keys(), ...handed.map(({ id }) => id)]);
    return (await store.read.outbox.listOf(launchId, ['accepted'])).filter(({ id }) => !known.has(id));
  }

  async function markIn(tx: Tx): Promise<void> {
    const written = [...unmarked.values()];
    for (const { row, at } of written) await markWritten(tx, row, at);
    if (written.length > 0)
      tx.afterCommit(() => {
        for (const { row } of written) unmarked.delete(row.id);
      });
  }

  async function mark(): Promise<void> {
    if (unmarked.size > 0) await store.transact(markIn, { sync: 'later' });
  }

  function markSoon(): void {
    timer ??= setTimeout(() => {
      timer = undefined;
      mark().catch(onError); // tried again with the next transaction of the session
    }, MARK_WAIT_MS).unref();
  }

  const passes = createNudgedWorker(pass, onError);
  return {
    markIn,
    mark,
    takesAtOnce: () => state === 'resting' && !mustLook && handed.length === 0,
    take(rows) {
      if (state !== 'resting' || mustLook) mustLook = true;
      handed = [...handed, ...(mustLook ? rows.filter(isMarked) : rows)];
      passes.nudge();
    },
    nudge() {
      if (mustLook) passes.nudge();
    },
    async drain() {
      await passes.drain();
      await mark().catch(onError);
    },
    async stop() {
      await passes.stop();
      clearTimeout(timer);
      state = 'stopped';
    },
  };
}

/** Of those that are stored as written when they are given, which a look into the store does not find. */
const isMarked = ({ state }: OutboxRow): boolean => state === 'written';
