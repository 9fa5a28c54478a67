import type { SpoolLine } from './wire/line-reader.ts';

/**
 * The two directions of one `claude` process, whatever they are made of.
 * `StdioChannel` (a FIFO and a spool) outlives us; a channel of plain pipes would not.
 */
export interface Channel {
  /** Batches of lines the process printed, in order, from the offset the channel was opened at. Consumed once. Ends after the process has. */
  lines(): AsyncGenerator<SpoolLine[]>;
  /**
   * Writes one line, newline included; resolves when the bytes are beyond our own death.
   * @throws OperationalError `process_gone`
   */
  write(line: string): Promise<void>;
  /** The process has ended: hand out what it printed, then end `lines`. */
  finish(): void;
  /** Lets go of both ends. The process goes on. */
  close(): void;
}
