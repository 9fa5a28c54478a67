import { constants, openSync } from 'node:fs';
import { Socket } from 'node:net';
import { mark } from '@callboard/runtime/marks';
import { OperationalError, systemCode } from '../../lib/errors.ts';

/** Writes whole lines into a launch's FIFO. */
export interface LineWriter {
  /**
   * Resolves when the kernel has all bytes of the line; they then outlive this process. Where nothing waits, the line is
   * in the pipe when the call returns. Waits without blocking a thread while the child does not read. Lines are not
   * mixed: a second call waits for the first.
   * @throws OperationalError `process_gone` when nobody reads the FIFO any more.
   */
  write(line: string): Promise<void>;
  close(): void;
}

const gone = (cause?: unknown) =>
  new OperationalError('process_gone', 'the process that reads this input is gone', { cause });

/**
 * Opens the writing end. Write-only and non-blocking, so that a dead child is noticed (ENXIO when opening, EPIPE when
 * writing): a writer opened read-write would swallow lines for it without a sign (seen).
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
      mark('line written'); // or has begun to be, where the pipe is full
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
