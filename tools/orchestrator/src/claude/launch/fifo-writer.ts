import { constants, openSync } from 'node:fs';
import { Socket } from 'node:net';
import { systemCode } from '@callboard/runtime/errors';
import { mark } from '@callboard/runtime/marks';
import { OperationalError } from '../../lib/errors.ts';

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
