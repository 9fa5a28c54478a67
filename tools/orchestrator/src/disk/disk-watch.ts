import { messageOf } from '@callboard/runtime/errors';
import type { Platform } from '../lib/edges.ts';
import type { Logger } from '../lib/logger.ts';

export interface DiskWatchDeps {
  dataDir: string;
  /** Nothing new begins while less than this is free; 0 for no limit. */
  reserveBytes: number;
  platform: Pick<Platform, 'freeBytes' | 'now'>;
  log: Logger;
  pollMs: number;
}

/** A change of the free disk space. */
export type DiskChange =
  /** Less than the reserve is free. */
  | { type: 'low'; diskPauseReason: string }
  /** Enough is free again. */
  | { type: 'recovered' }
  /** The disk was full, so that output of processes was lost, and has space again. `since`: when it was first seen to be full. */
  | { type: 'not-full'; since: Date };

/** Watches the free space on the disk of the data directory. */
export interface DiskWatch {
  /** Checks the disk, and returns why nothing new may begin, for people to read; null while enough is free. */
  diskPauseReason(): string | null;
  /** A write failed because the disk was full, perhaps only between two checks. */
  foundFull(): void;
  /** Calls the listener on every change. Returns a function that removes it. */
  onChange(listener: (change: DiskChange) => void): () => void;
  stop(): void;
}

/** A disk counts as full before its last block is used: a line that does not fit as a whole is lost as well. */
const FULL_BYTES = 1_000_000;
/** The disk has recovered when a tenth more than the reserve is free, so that work does not start and stop all the time. */
const HYSTERESIS = 1 / 10;

const MEGABYTE = 1_000_000;
const GIGABYTE = 1_000 * MEGABYTE;

/** Uses gigabytes where megabytes would have five digits. */
const size = (bytes: number) =>
  bytes < 10 * GIGABYTE
    ? `${Math.floor(bytes / MEGABYTE)} MB`
    : `${(Math.floor(bytes / (GIGABYTE / 10)) / 10).toFixed(1)} GB`;

/** Checks the disk now, then every `pollMs`, and whenever it is asked. */
export function startDiskWatch({ dataDir, reserveBytes, platform, log, pollMs }: DiskWatchDeps): DiskWatch {
  const listeners = new Set<(change: DiskChange) => void>();
  const freeBytes = createFreeBytesReader(dataDir, platform, log);
  let reason: string | null = null;
  let fullSince: Date | null = null;

  function emit(change: DiskChange): void {
    for (const listener of listeners) listener(change);
  }

  function check(): string | null {
    const free = freeBytes();
    if (free === null) return reason;
    noteFull(free);
    const wasLow = reason !== null;
    const isLow = free < reserveBytes + (wasLow ? reserveBytes * HYSTERESIS : 0);
    reason = isLow ? reasonFor(free, dataDir, reserveBytes) : null;
    if (reason !== null && !wasLow) emit({ type: 'low', diskPauseReason: reason });
    if (reason === null && wasLow) emit({ type: 'recovered' });
    return reason;
  }

  function noteFull(free: number): void {
    const since = fullSince;
    if (free < FULL_BYTES) {
      foundFull();
    } else if (since !== null) {
      fullSince = null;
      emit({ type: 'not-full', since });
    }
  }

  function foundFull(): void {
    fullSince ??= platform.now();
  }

  check();
  const timer = setInterval(check, pollMs).unref();
  return {
    diskPauseReason: check,
    foundFull,
    onChange: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    stop: () => clearInterval(timer),
  };
}

const reasonFor = (free: number, dataDir: string, reserveBytes: number) =>
  `The disk is nearly full: ${size(free)} are free on the disk of ${dataDir}, and ${size(reserveBytes)} are kept in reserve. ` +
  'Callboard starts nothing and delivers no messages until more is free; answers still go through. ' +
  'Free some space (or lower --disk-reserve-mb), and Callboard continues automatically.';

/** Returns a function that reads the free space; null if the system does not report it. Each error is logged once in a row. */
function createFreeBytesReader(
  dataDir: string,
  platform: Pick<Platform, 'freeBytes'>,
  log: Logger,
): () => number | null {
  let lastError = '';
  return () => {
    try {
      const free = platform.freeBytes(dataDir);
      lastError = '';
      return free;
    } catch (error) {
      if (messageOf(error) !== lastError) log.error({ err: error }, 'cannot read the free disk space');
      lastError = messageOf(error);
      return null;
    }
  };
}
