import type { Edges } from '../lib/edges.ts';
import { messageOf } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';

export interface DiskWatchParts {
  dataDir: string;
  /** Nothing new is begun while less than this is free; 0 for no such limit. */
  reserveBytes: number;
  edges: Pick<Edges, 'freeBytes' | 'now'>;
  log: Logger;
  lookMs: number;
}

/** What changed on the disk. */
export type DiskChange =
  /** Less is free than the reserve. */
  | { type: 'low'; diskPauseReason: string }
  /** There is room again. */
  | { type: 'room' }
  /** The disk was full, so that what processes printed was lost, and can take something again; `since`: when that was first seen. */
  | { type: 'not-full'; since: Date };

/** Watches the free space of the disk that the data directory lies on. */
export interface DiskWatch {
  /** Looks, and says why nothing new may be begun, in words; null while there is room. */
  diskPauseReason(): string | null;
  /** A write has failed for want of room: the disk was full, be it between two looks. */
  foundFull(): void;
  /** Returns how to stop listening. */
  onChange(listener: (change: DiskChange) => void): () => void;
  stop(): void;
}

/** A disk is called full before its last block is gone: a line that does not fit whole is lost as well. */
const FULL_BYTES = 1_000_000;
/** There is room again when a tenth more than the reserve is free, so that a disk on the edge does not start and stop work. */
const HYSTERESIS = 1 / 10;

const MEGABYTE = 1_000_000;
const GIGABYTE = 1_000 * MEGABYTE;

/** In gigabytes where megabytes would have five figures. */
const size = (bytes: number) =>
  bytes < 10 * GIGABYTE
    ? `${Math.floor(bytes / MEGABYTE)} MB`
    : `${(Math.floor(bytes / (GIGABYTE / 10)) / 10).toFixed(1)} GB`;

/** Looks at the disk now, then regularly, and whenever it is asked. */
export function startDiskWatch({ dataDir, reserveBytes, edges, log, lookMs }: DiskWatchParts): DiskWatch {
  const listeners = new Set<(change: DiskChange) => void>();
  let words: string | null = null;
  let fullSince: Date | null = null;
  let lastComplaint = '';

  function tell(change: DiskChange): void {
    for (const listener of listeners) listener(change);
  }

  /** Null where the system does not say; what was known then stays. */
  function freeBytes(): number | null {
    try {
      const free = edges.freeBytes(dataDir);
      lastComplaint = '';
      return free;
    } catch (error) {
      if (messageOf(error) !== lastComplaint) log.error({ err: error }, 'the free space of the disk is not known');
      lastComplaint = messageOf(error);
      return null;
    }
  }

  const wordsFor = (free: number) =>
    `The disk is nearly full: ${size(free)} are free where ${dataDir} lies, and ${size(reserveBytes)} are kept in reserve. ` +
    'Nothing is started and no message is delivered until there is room; answers still go through. ' +
    'Free some space (or lower --disk-reserve-mb), and all goes on by itself.';

  function look(): string | null {
    const free = freeBytes();
    if (free === null) return words;
    noteFull(free);
    const wasLow = words !== null;
    words = free < reserveBytes + (wasLow ? reserveBytes * HYSTERESIS : 0) ? wordsFor(free) : null;
    if (words !== null && !wasLow) tell({ type: 'low', diskPauseReason: words });
    if (words === null && wasLow) tell({ type: 'room' });
    return words;
  }

  function noteFull(free: number): void {
    const since = fullSince;
    if (free < FULL_BYTES) {
      foundFull();
    } else if (since !== null) {
      fullSince = null;
      tell({ type: 'not-full', since });
    }
  }

  function foundFull(): void {
    fullSince ??= edges.now();
  }

  look();
  const timer = setInterval(look, lookMs).unref();
  return {
    diskPauseReason: look,
    foundFull,
    onChange: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    stop: () => clearInterval(timer),
  };
}
