import { constants, existsSync, type FSWatcher, fstatSync, openSync, readSync, watch } from 'node:fs';
import { open } from 'node:fs/promises';
import { Socket } from 'node:net';
import { systemCode } from '@callboard/runtime/errors';
import { mark } from '@callboard/runtime/marks';
import { createSharedPoll } from '../../lib/async.ts';
import { OperationalError } from '../../lib/errors.ts';
import { launchFiles, openFilesOf } from './claude-process.ts';
import { createLineReader, type SpoolLine } from './frames.ts';

/**
 * Both directions of one `claude` process, whatever carries them. A FIFO and a spool survive our own death; plain pipes
 * would not.
 */
export interface Channel {
  /** Batches of printed lines, in order, from the offset at which the channel was opened. Consumed once. Ends after the process does. */
  lines(): AsyncGenerator<SpoolLine[]>;
  /**
   * Writes one line, newline included. Resolves once the bytes would survive our own death.
   * @throws OperationalError `process_gone`
   */
  write(line: string): Promise<void>;
  /** The process has ended: `lines` yields the rest of its output, then ends. */
  finish(): void;
  /** Closes both ends. The process keeps running. */
  close(): void;
}

/**
 * Opens the channel of a launch: its FIFO, and its spool from `offset` on. If either file was deleted, both are reached
 * through the living process, which has them open.
 * @throws OperationalError `process_gone` when no process has the FIFO open
 */
export function openStdioChannel(folder: string, offset: number, pid: number): Channel {
  const files = launchFiles(folder);
  const deleted = !existsSync(files.input) || !existsSync(files.spool);
  const { input, spool } = deleted ? openFilesOf(pid) : files;
  const closing = new AbortController();
  const writer = openFifoWriter(input);
  const tail = createSpoolTail(spool, offset, closing.signal);
  return {
    lines: tail.batches,
    write: writer.write,
    finish: tail.finish,
    close: () => {
      closing.abort();
      writer.close();
    },
  };
}

/** The remaining output of a process that has ended, from `offset` on. Writing is refused with `process_gone`. */
export function openSpoolOnly(folder: string, offset: number): Channel {
  const closing = new AbortController();
  const tail = createSpoolTail(launchFiles(folder).spool, offset, closing.signal);
  tail.finish();
  return {
    lines: tail.batches,
    write: () => Promise.reject(new OperationalError('process_gone', 'a process that has ended takes no input')),
    finish: tail.finish,
    close: () => closing.abort(),
  };
}

/** Writes whole lines into a launch's FIFO. */
export interface LineWriter {
  /**
   * Resolves once the kernel has all bytes of the line, which then outlive this process. If no earlier line waits, the line
   * is in the pipe when the call returns. While the child does not read, it waits without blocking a thread. Lines never
   * mix: a second call waits for the first.
   * @throws OperationalError `process_gone` when no process reads the FIFO
   */
  write(line: string): Promise<void>;
  close(): void;
}

const gone = (cause?: unknown) =>
  new OperationalError('process_gone', 'the process that reads this input is gone', { cause });

/**
 * Opens the writing end, write-only and non-blocking, so that a dead child is noticed (ENXIO when opening, EPIPE when
 * writing). A writer opened read-write would silently accept lines for a dead child (seen).
 * @throws OperationalError `process_gone`
 */
export function openFifoWriter(path: string): LineWriter {
  const socket = new Socket({ fd: openForWriting(path), readable: false, writable: true });
  let failure: unknown;
  socket.on('error', (error) => {
    failure = error;
  });
  socket.unref();
  let last: Promise<unknown> | undefined;

  function writeNow(line: string): Promise<void> {
    if (socket.destroyed) return Promise.reject(gone(failure));
    return new Promise((resolve, reject) => {
      const onClose = () => reject(gone(failure));
      socket.once('close', onClose);
      socket.write(line, (error) => {
        socket.off('close', onClose);
        if (error) reject(gone(error));
        else resolve();
      });
      mark('line written'); // or partly written, if the pipe is full
    });
  }

  return {
    write(line) {
      const written = last === undefined ? writeNow(line) : last.then(() => writeNow(line));
      const settled = written
        .catch(() => undefined)
        .then(() => {
          if (last === settled) last = undefined;
        });
      last = settled;
      return written;
    },
    close: () => socket.destroy(),
  };
}

function openForWriting(path: string): number {
  try {
    return openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
  } catch (error) {
    if (systemCode(error) === 'ENXIO' || systemCode(error) === 'ENOENT') throw gone(error);
    throw error;
  }
}

/** A reader rests after a read, this long for each reader that is active. */
const REST_MS_EACH = 0.4;
const MAX_REST_MS = 200;
/** A shorter rest is not worth a timer. */
const MIN_REST_MS = 2;
const WINDOW_MS = 250;
/** How many readers resume at once before the event loop gets its turn. */
const BATCH_SIZE = 8;

/**
 * Limits how often many readers read. A single one resumes in the next round of the event loop. With hundreds, each rests
 * after a read, so that its next read finds several lines: a read costs the same, however many lines it returns. Readers
 * resume in groups, so that what they read is stored together.
 */
export function createReadThrottle(now: () => number = () => performance.now()) {
  let windowStart = now();
  let current = new Set<unknown>();
  let lastCount = 0;
  /** The readers that rest until the timer fires, in order of arrival. */
  let resting = new Set<() => void>();
  let isTimed = false;

  /** Notes the reader and returns how many were active in the last complete window. */
  function countWith(reader: unknown): number {
    const elapsed = now() - windowStart;
    if (elapsed >= WINDOW_MS) {
      lastCount = elapsed < 2 * WINDOW_MS ? current.size : 0;
      current = new Set();
      windowStart = now();
    }
    current.add(reader);
    return lastCount;
  }

  function resume(rested: Set<() => void>): void {
    let left = BATCH_SIZE;
    for (const onRested of rested) {
      if (left-- === 0) {
        setImmediate(resume, rested);
        return;
      }
      rested.delete(onRested);
      onRested();
    }
  }

  function pauseGroup(restMs: number, onRested: () => void): Set<() => void> {
    resting.add(onRested);
    if (!isTimed) {
      isTimed = true;
      setTimeout(() => {
        const rested = resting;
        resting = new Set();
        isTimed = false;
        resume(rested);
      }, restMs);
    }
    return resting;
  }

  return {
    /**
     * Calls `onRested` once, when the reader that has just read may read again.
     * @returns a function that ends the rest at once; it does nothing if the rest is over
     */
    rest(reader: unknown, onRested: () => void): () => void {
      const restMs = Math.min(MAX_REST_MS, countWith(reader) * REST_MS_EACH);
      if (restMs < MIN_REST_MS) {
        const round = setImmediate(onRested);
        return () => {
          clearImmediate(round);
          onRested();
        };
      }
      const group = pauseGroup(restMs, onRested);
      return () => {
        if (group.delete(onRested)) onRested();
      };
    },
  };
}

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
