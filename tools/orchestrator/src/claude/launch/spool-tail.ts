import { type FSWatcher, fstatSync, readSync, watch } from 'node:fs';
import { open } from 'node:fs/promises';
import { mark } from '@callboard/runtime/marks';
import { OperationalError } from '../../lib/errors.ts';
import { createLineReader, type SpoolLine } from '../wire/line-reader.ts';
import { createPace } from './read-throttle.ts';
import { createRounds } from './shared-poll.ts';

/**
 * All spools are read into this one, which hundreds of sessions would not have room for each. A read is synchronous: what was
 * just printed is in the system's memory, and asking a thread for it costs twenty times what reading it does. No larger: what is
 * read at once is parsed and stored at once.
 */
const chunk = Buffer.allocUnsafe(64 * 1024);
/** The watch tells at once; this is for file systems whose watch does not. */
const unsure = createRounds({ everyMs: 250 });
/** For a file whose watch has told of something before. */
const sure = createRounds({ everyMs: 1_000 });

const pace = createPace();

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
  /** Ends the rest between two reads. */
  let hurry: () => void = () => undefined;

  async function* batches(): AsyncGenerator<SpoolLine[]> {
    const file = await open(path, 'r');
    const look = () => {
      const hasGrown = sizeOf(file.fd) !== reader.position();
      if (hasGrown) wake();
      return hasGrown;
    };
    let unpoll = unsure.join(look);
    let isSure = false;
    const watcher = watchIfPossible(path, () => {
      wake();
      if (isSure) return;
      isSure = true;
      unpoll();
      unpoll = sure.join(look);
    });
    const onAbort = () => {
      wake();
      hurry();
    };
    signal.addEventListener('abort', onAbort);
    try {
      while (!signal.aborted) {
        const ending = finishing; // read before the last read, so that nothing written before is missed
        const lines = readOn(file.fd);
        if (lines !== null) {
          mark('lines read');
          if (lines.length > 0) yield lines;
          await new Promise<void>((resolve) => {
            hurry = pace.rest(batches, resolve);
            if (signal.aborted || finishing) hurry();
          });
        } else if (ending) {
          const rest = reader.rest();
          if (rest !== '') yield [{ text: rest, end: reader.position() }];
          return;
        } else {
          // What is written after the read is told of in a later round, when this is listened to.
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      }
    } finally {
      signal.removeEventListener('abort', onAbort);
      unpoll();
      watcher?.close();
      await file.close();
    }
  }

  /** The lines that the next bytes complete; null where there are no more bytes. */
  function readOn(fd: number): SpoolLine[] | null {
    const position = reader.position();
    const bytesRead = readSync(fd, chunk, 0, chunk.length, position);
    if (bytesRead > 0) return reader.push(chunk.subarray(0, bytesRead));
    const { size } = fstatSync(fd);
    if (size >= position) return null;
    // The process only ever appends; whoever makes the file shorter takes from what it prints next.
    throw new OperationalError('spool_truncated', `the spool has ${size} bytes, ${position} were read before`);
  }

  return {
    batches,
    finish: () => {
      finishing = true;
      wake();
      hurry();
    },
  };
}

/** Null where the system does not say; whoever reads then hears why. */
function sizeOf(fd: number): number | null {
  try {
    return fstatSync(fd).size;
  } catch {
    return null;
  }
}

/** Without a watch (their number is limited) the poll does alone. */
function watchIfPossible(path: string, onChange: () => void): FSWatcher | null {
  try {
    return watch(path, { persistent: false }, onChange).on('error', () => undefined);
  } catch {
    return null;
  }
}
