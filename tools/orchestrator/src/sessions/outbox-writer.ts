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

/**
 * Writes the launch's accepted rows, in their order, one after another. A crash between any two steps is made good by
 * the replay rule of the kind: a message or an answer that was written but not marked is written again, which the CLI
 * ignores; a control request is marked first, so that it is never written twice.
 */
export function createOutboxWriter({ store, channel, launchId, onGone, onError }: OutboxWriterParts): Nudged {
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

  async function pass(): Promise<void> {
    for (const row of await store.read.outbox.listOf(launchId, ['accepted'])) {
      try {
        await writeRow(row);
      } catch (error) {
        if (!(error instanceof AppError) || error.code !== 'process_gone') throw error;
        onGone();
        return;
      }
    }
  }

  return createNudged(pass, onError);
}
