import { OperationalError } from '../lib/errors.ts';
import type { Channel } from './channel.ts';
import { openFifoWriter } from './launch/fifo-writer.ts';
import { launchFiles } from './launch/launch-folder.ts';
import { createSpoolTail } from './launch/spool-tail.ts';

/**
 * The channel of a launch: its FIFO and its spool, read from `offset`.
 * @throws OperationalError `process_gone` when nobody has the FIFO open.
 */
export function openStdioChannel(folder: string, offset: number): Channel {
  const files = launchFiles(folder);
  const closing = new AbortController();
  const writer = openFifoWriter(files.input);
  const tail = createSpoolTail(files.spool, offset, closing.signal);
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
