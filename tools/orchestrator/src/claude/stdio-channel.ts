import { existsSync } from 'node:fs';
import { OperationalError } from '../lib/errors.ts';
import type { Channel } from './channel.ts';
import { openFifoWriter } from './launch/fifo-writer.ts';
import { launchFiles, openFilesOf } from './launch/launch-folder.ts';
import { createSpoolTail } from './launch/spool-tail.ts';

/**
 * The channel of a launch: its FIFO and its spool, read from `offset`. Where somebody deleted them, they are reached
 * through the living process that has them open.
 * @throws OperationalError `process_gone` when nobody has the FIFO open.
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

/** What a process that has ended had printed, from `offset` on. Nothing can be written. */
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
