import { type FSWatcher, fstatSync, readSync, watch } from 'node:fs';
import { open } from 'node:fs/promises';
import { mark } from '@callboard/runtime/marks';
import { OperationalError } from '../../lib/errors.ts';
import { createLineReader, type SpoolLine } from '../wire/line-reader.ts';
import { createReadThrottle } from './read-throttle.ts';
import { createSharedPoll } from './shared-poll.ts';

/**
 * One buffer for all spools: hundreds of sessions would have no room for one each. Reads are synchronous: recent output is in
 * the system's page cache, and asking a thread for it costs twenty times the read itself. The buffer is no larger because
 * everything read at once is parsed and stored at once.
 */
const chunk = Buffer.allocUnsafe(64 * 1024);
/** The watch reports at once; this poll is for file systems whose watch does not work. */
const pollUnproven = createSharedPoll({ everyMs: 250 });
/** For files whose watch has reported a change before. */
const pollProven = createSharedPoll({ everyMs: 1_000 });

const throttle = createReadThrottle();

export interface SpoolTail {
  /**
   * Batches of whole lines from `offset` on, as they are appended. The next bytes are read when the consumer requests the
   * next batch. Ends when the signal aborts; or after `finish()`, once everything written until then was yielded, including
   * a partial line at the end.
   * @throws OperationalError `spool_truncated` when the file is shorter than its read part, so someone tampered with it
   */
  batches(): AsyncGenerator<SpoolLine[]>;
  /** The writer is gone: yields the rest, then ends. */
  finish(): void;
}

export function createSpoolTail(path: string, offset: number, signal: AbortSignal): SpoolTail {
  const reader = createLineReader(offset);
  let finishing = false;
  let wake: () => void = () => undefined;
  /** Ends the rest between two reads. */
  let endRest: () => void = () => undefined;

  async function* batches(): AsyncGenerator<SpoolLine[]> {
    const file = await open(path, 'r');
    const unwatch = watchGrowth(file.fd);
    const onAbort = () => {
      wake();
      endRest();
    };
    signal.addEventListener('abort', onAbort);
    try {
      while (!signal.aborted) {
        const ending = finishing; // checked before the last read, so that nothing written earlier is missed
        const lines = readOn(file.fd);
        if (lines !== null) {
          mark('lines read');
          if (lines.length > 0) yield lines;
          await new Promise<void>((resolve) => {
            endRest = throttle.rest(batches, resolve);
            if (signal.aborted || finishing) endRest();
          });
        } else if (ending) {
          const rest = reader.rest();
          if (rest !== '') yield [{ text: rest, end: reader.position() }];
          return;
        } else {
          // A write after the read is reported in a later round of the event loop, when `wake` is set.
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      }
    } finally {
      signal.removeEventListener('abort', onAbort);
      unwatch();
      await file.close();
    }
  }

  /** Calls `wake` when the file may have grown. Returns a function that stops watching. */
  function watchGrowth(fd: number): () => void {
    const check = () => {
      const hasGrown = sizeOf(fd) !== reader.position();
      if (hasGrown) wake();
      return hasGrown;
    };
    let unpoll = pollUnproven.add(check);
    let isProven = false;
    const watcher = watchIfPossible(path, () => {
      wake();
      if (isProven) return;
      isProven = true;
      unpoll();
      unpoll = pollProven.add(check);
    });
    return () => {
      unpoll();
      watcher?.close();
    };
  }

  /** Returns the lines that the next bytes complete; null at the end of the file. */
  function readOn(fd: number): SpoolLine[] | null {
    const position = reader.position();
    const bytesRead = readSync(fd, chunk, 0, chunk.length, position);
    if (bytesRead > 0) return reader.push(chunk.subarray(0, bytesRead));
    const { size } = fstatSync(fd);
    if (size >= position) return null;
    // The process only appends; whoever truncates the file removes part of its later output.
    throw new OperationalError('spool_truncated', `the spool has ${size} bytes, but ${position} were already read`);
  }

  return {
    batches,
    finish: () => {
      finishing = true;
      wake();
      endRest();
    },
  };
}

/** Null if the system does not report it; the next read then fails with the reason. */
function sizeOf(fd: number): number | null {
  try {
    return fstatSync(fd).size;
  } catch {
    return null;
  }
}

/** The number of watches is limited; without one, the poll alone has to do. */
function watchIfPossible(path: string, onChange: () => void): FSWatcher | null {
  try {
    return watch(path, { persistent: false }, onChange).on('error', () => undefined);
  } catch {
    return null;
  }
}
