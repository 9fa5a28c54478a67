import { createEmitter } from '@callboard/runtime/emitter';
import { messageOf } from '@callboard/runtime/errors';
import { createReconciler, type Reconciler, type Timer } from '@callboard/runtime/reconciler';
import type { Logger, Platform } from '../../platform/runtime.ts';
import type { StorageError } from '../../store/storage-error.ts';
import type { Store, Tx } from '../../store/store.ts';

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
  const changed = createEmitter<DiskChange>();
  const freeBytes = createFreeBytesReader(dataDir, platform, log);
  let reason: string | null = null;
  let fullSince: Date | null = null;

  function check(): string | null {
    const free = freeBytes();
    if (free === null) return reason;
    noteFull(free);
    const wasLow = reason !== null;
    const isLow = free < reserveBytes + (wasLow ? reserveBytes * HYSTERESIS : 0);
    reason = isLow ? reasonFor(free, dataDir, reserveBytes) : null;
    if (reason !== null && !wasLow) changed.emit({ type: 'low', diskPauseReason: reason });
    if (reason === null && wasLow) changed.emit({ type: 'recovered' });
    return reason;
  }

  function noteFull(free: number): void {
    const since = fullSince;
    if (free < FULL_BYTES) {
      foundFull();
    } else if (since !== null) {
      fullSince = null;
      changed.emit({ type: 'not-full', since });
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
    onChange: changed.subscribe,
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

export interface WriteWatchDeps {
  store: Pick<Store, 'onWrite' | 'probe'>;
  log: Logger;
  /** How often a store that cannot write is probed. */
  retryMs: number;
}

/** Knows whether the store can write, and notices when it can again, even if nothing else writes to it. */
export interface WriteWatch {
  /** Why the store cannot write; null while it can. */
  storageError(): StorageError | null;
  /** Calls the listener on every change. Returns a function that removes it. */
  onChange(listener: (storageError: StorageError | null) => void): () => void;
  stop(): void;
}

export function startWriteWatch({ store, log, retryMs }: WriteWatchDeps): WriteWatch {
  const changed = createEmitter<StorageError | null>();
  let storageError: StorageError | null = null;

  /** The result is reported to `onWrite`, like that of any other write. */
  const probes = createReconciler(
    async () => {
      if (storageError === null) return;
      probes.scheduleIn(retryMs);
      await store.probe();
    },
    () => undefined,
    { on: () => [store.onWrite(update)] },
  );

  function update(now: StorageError | null): void {
    if (now?.text === storageError?.text) return;
    storageError = now;
    if (now !== null) probes.scheduleIn(retryMs);
    if (now === null) log.warn('the store can write again');
    else log.error({ storageError: now.text }, 'the store cannot write');
    changed.emit(now);
  }

  return {
    storageError: () => storageError,
    onChange: changed.subscribe,
    stop: () => void probes.stop(),
  };
}

const RETAINED_EVENTS = 200_000;
/** About 2 KB for each of them. */
const RETAINED_BYTES = 400 * 1024 * 1024;
const RETENTION_MS = 14 * 24 * 3_600_000;
/** A draft file that has waited this long for its message is deleted. */
const DRAFT_FILES_RETENTION_MS = 30 * 24 * 3_600_000;
const TRASH_RETENTION_MS = 30 * 24 * 3_600_000;
/** What was told and is settled. */
const ANNOUNCEMENTS_RETENTION_MS = 7 * 24 * 3_600_000;
/** What Callboard merged, and told, this long ago is no news. */
const UPDATES_MS = 24 * 3_600_000;
const EVERY_MS = 3_600_000;
/** How often the clock advances: a crash loses no more than this. */
const CLOCK_MS = 10 * 60_000;

interface PruningDeps {
  store: Store;
  platform: Platform;
  log: Logger;
  /** Deletes files that were added to a draft before this instant and never sent. */
  forgetDraftFiles: (instant: string) => Promise<void>;
  /** Deletes trash entries from before this instant. */
  forgetTrash: (instant: string) => Promise<void>;
  /** Settles what was announced of completed stages before this instant, and tells nobody. */
  settleCompleted: (tx: Tx, instant: string) => Promise<void>;
  timer?: Timer;
}

/**
 * Keeps the store from growing without bound. Transcripts, decisions and everything else people see stay. Age is counted
 * while Callboard runs, so setting the time of day forward makes nothing old.
 */
export function startPruning(deps: PruningDeps): Pick<Reconciler, 'drain' | 'stop'> {
  const { store, platform, log, forgetDraftFiles, forgetTrash, settleCompleted, timer } = deps;
  let counted = platform.uptimeMs();
  let pruned = Number.NEGATIVE_INFINITY;

  async function pruneWhenDue(): Promise<void> {
    const now = platform.uptimeMs();
    const elapsed = now - counted;
    counted = now;
    const livedUntil = await store
      .transact((tx) => tx.clock.advance(tx.now, elapsed), { sync: 'later' })
      .catch((error: unknown) => {
        counted -= elapsed; // counts with the next call
        throw error;
      });
    if (now - pruned < EVERY_MS) return;
    pruned = now;
    const before = (ms: number) => new Date(Date.parse(livedUntil) - ms).toISOString();
    const olderThan = before(RETENTION_MS);
    await store.transact(
      async (tx) => {
        await tx.events.prune({ save: RETAINED_EVENTS, retainBytes: RETAINED_BYTES, olderThan });
        await settleCompleted(tx, before(UPDATES_MS));
        await tx.announcements.forgetSettledBefore(before(ANNOUNCEMENTS_RETENTION_MS));
      },
      { sync: 'later' },
    );
    await forgetDraftFiles(before(DRAFT_FILES_RETENTION_MS));
    await forgetTrash(before(TRASH_RETENTION_MS));
  }

  const runs = createReconciler(pruneWhenDue, (error) => log.error({ err: error }, 'store not pruned'), {
    everyMs: CLOCK_MS,
    timer,
  });
  runs.schedule();
  return runs;
}
