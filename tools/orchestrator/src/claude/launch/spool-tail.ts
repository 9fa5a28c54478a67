import { type FSWatcher, watch } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { OperationalError } from '../../lib/errors.ts';
import { createLineReader, type SpoolLine } from '../wire/line-reader.ts';

const CHUNK_BYTES = 256 * 1024;
/** The watch tells at once; this is for file systems whose watch does not. */
const POLL_MS = 250;

export interface SpoolTail {
  /**
   * Batches of whole lines from `offset` on, as they are appended. The next bytes are read when the consumer asks for
   * the next batch. Ends after `finish()`, once everything written until then was handed out, half a line at the end
   * included; or when the signal aborts.
   * @throws OperationalError `spool_truncated` when the file is shorter than what was read of it: somebody tampered with it.
   */
  batches(): AsyncGenerator<SpoolLine[]>;
  /** The writer is gone: read what there is, then end. */
  finish(): void;
}

export function createSpoolTail(path: string, offset: number, signal: AbortSignal): SpoolTail {
  const reader = createLineReader(offset);
  let finishing = false;
  let wake: () => void = () => undefined;

  async function* batches(): AsyncGenerator<SpoolLine[]> {
    const file = await open(path, 'r');
    const watcher = watchIfPossible(path, () => wake());
    const onAbort = () => wake();
    signal.addEventListener('abort', onAbort);
    try {
      const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
      while (!signal.aborted) {
        const ending = finishing; // read before the last read, so that nothing written before is missed
        const { changed, arm } = nextChange();
        const bytesRead = await readAt(file, buffer, reader.position());
        if (bytesRead > 0) {
          const lines = reader.push(buffer.subarray(0, bytesRead));
          if (lines.length > 0) yield lines;
          continue;
        }
        await requireWhole(file, reader.position());
        if (ending) {
          const rest = reader.rest();
          if (rest !== '') yield [{ text: rest, end: reader.position() }];
          return;
        }
        arm();
        await changed;
      }
    } finally {
      signal.removeEventListener('abort', onAbort);
      watcher?.close();
      await file.close();
    }
  }

  /** A change that comes between the read and the wait is not missed: it is listened for before the read. */
  function nextChange(): { changed: Promise<void>; arm: () => void } {
    const { promise: changed, resolve } = Promise.withResolvers<void>();
    let timer: NodeJS.Timeout | undefined;
    wake = () => {
      clearTimeout(timer);
      resolve();
    };
    return {
      changed,
      arm: () => {
        timer = setTimeout(wake, POLL_MS);
        if (signal.aborted) wake();
      },
    };
  }

  return {
    batches,
    finish: () => {
      finishing = true;
      wake();
    },
  };
}

/** Without a watch (their number is limited) the poll does alone. */
function watchIfPossible(path: string, onChange: () => void): FSWatcher | null {
  try {
    return watch(path, { persistent: false }, onChange).on('error', () => undefined);
  } catch {
    return null;
  }
}

/** The process only ever appends; whoever makes the file shorter takes from what it prints next. */
async function requireWhole(file: FileHandle, position: number): Promise<void> {
  const { size } = await file.stat();
  if (size >= position) return;
  throw new OperationalError('spool_truncated', `the spool has ${size} bytes, ${position} were read before`);
}

async function readAt(file: FileHandle, buffer: Buffer, position: number): Promise<number> {
  const { bytesRead } = await file.read(buffer, 0, buffer.length, position);
  return bytesRead;
}
