import type { LaunchId } from '@callboard/contract';
import type { Channel } from '../claude/channel.ts';
import { encodeRow } from '../claude/wire/encode.ts';
import { AppError } from '../lib/errors.ts';
import { createNudged, type Nudged } from '../lib/wait.ts';
import { requestOf, setDelivery } from '../session-state/requests.ts';
import type { OutboxRow } from '../store/records.ts';
import type { Store, Tx } from '../store/store.ts';

/** An answer whose echo has overtaken this is confirmed already, and stays so. */
async function markWritten(tx: Tx, row: OutboxRow): Promise<void> {
  await tx.outbox.setWritten(row, tx.now);
  if (row.kind !== 'answer') return;
  const stored = await requestOf(tx, row);
  if (stored?.decision?.delivery === 'accepted') await setDelivery(tx, stored, 'written');
}

/** Up to this many bytes a write into a pipe is all or nothing (PIPE_BUF). */
const ATOMIC_BYTES = 4096;

export interface OutboxWriterParts {
  store: Store;
  channel: Channel;
  launchId: LaunchId;
  /** The process reads no more. */
  onGone: () => void;
  onError: (error: unknown) => void;
}

/** Writes what a launch is given. `nudge` has it look for what it was not handed: at the beginning, and again after a failure. */
export interface OutboxWriter extends Nudged {
  /** Takes rows whose commit has just returned. Where nothing waits before them, the first line is in the pipe when this returns. */
  take(rows: readonly OutboxRow[]): void;
}

/**
 * Writes the launch's accepted rows, in their order, one after another. A crash between any two steps is made good by
 * the replay rule of the kind: a message or an answer that was written but not marked is written again, which the CLI
 * ignores; a control request is marked first, so that it is never written twice.
 */
export function createOutboxWriter({ store, channel, launchId, onGone, onError }: OutboxWriterParts): OutboxWriter {
  /** Rows that are next, known without a look into the store. */
  let handed: readonly OutboxRow[] = [];
  /** Accepted rows may be in the store that were not handed over: from before this began, behind a line that waits, or after a failure. */
  let mustLook = true;
  let isWriting = false;
  let isGone = false;

  async function writeRow(row: OutboxRow): Promise<void> {
    const line = encodeRow(row);
    const mark = () => store.transact((tx) => markWritten(tx, row));
    if (row.kind === 'control') {
      await mark();
      await channel.write(line);
      return;
    }
    // A longer line can be torn by a crash in the middle; whoever finds the mark does not write behind half a line.
    if (Buffer.byteLength(line) > ATOMIC_BYTES) await store.transact((tx) => tx.outbox.setWriting(row.id));
    await channel.write(line);
    await mark();
  }

  /** Does not wait for anything before the first of the rows that were handed over. */
  async function pass(): Promise<void> {
    if (isGone) return;
    isWriting = true;
    try {
      const rows = mustLook ? await lookIntoStore() : handed;
      handed = [];
      for (const row of rows) await writeRow(row);
    } catch (error) {
      mustLook = true;
      if (!(error instanceof AppError) || error.code !== 'process_gone') throw error;
      isGone = true;
      onGone();
    } finally {
      isWriting = false;
    }
  }

  async function lookIntoStore(): Promise<OutboxRow[]> {
    mustLook = false; // what is committed during the look may be missing in it, and has to be looked for again
    return store.read.outbox.listOf(launchId, ['accepted']);
  }

  const passes = createNudged(pass, onError);
  return {
    ...passes,
    nudge() {
      if (mustLook) passes.nudge();
    },
    take(rows) {
      if (isWriting || mustLook) mustLook = true;
      else handed = [...handed, ...rows];
      passes.nudge();
    },
  };
}
