import { existsSync } from 'node:fs';
import { OperationalError } from '../../lib/errors.ts';
import type { SpoolLine } from '../wire/line-reader.ts';
import { openFifoWriter } from './fifo-writer.ts';
import { launchFiles, openFilesOf } from './launch-folder.ts';
import { createSpoolTail } from './spool-tail.ts';

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
