import { closeSync, fdatasync, openSync, statfsSync } from 'node:fs';
import { promisify } from 'node:util';
import { bootId } from '@callboard/runtime/process-identity';
import { v4, v7 } from 'uuid';
import { availableMemory, residentMemory } from './memory.ts';

/** The parts of the outside world that tests replace: the clocks, the ids, the disk, the memory and the machine's power. */
export interface Platform {
  /** The time of day, for display and storage. It can be set forward or back. */
  now(): Date;
  /** Milliseconds on the monotonic clock, for every wait. */
  uptimeMs(): number;
  /** A time-ordered id (UUID v7), for rows. */
  newId(): string;
  /** A random id (UUID v4), for messages to the CLI, which makes ids of the same kind. */
  newWireId(): string;
  /** Returns how many bytes this account may still write to the folder's disk. @throws a system error */
  freeBytes(folder: string): number;
  /** How many bytes new processes can use without swapping. */
  availableMemory(): number;
  /** How many bytes of memory a process holds; null if it is gone, or the system does not tell. */
  residentMemory(pid: number): number | null;
  /** Resolves when everything written to the file is on disk. Does not block other work meanwhile. @throws a system error */
  syncFile(path: string): Promise<void>;
  /** Resolves with the id of this boot of the machine; null if the system does not provide one. */
  bootId(): Promise<string | null>;
}

const datasync = promisify(fdatasync);

export const nodePlatform: Platform = {
  now: () => new Date(),
  uptimeMs: () => performance.now(),
  newId: () => v7(),
  newWireId: () => v4(),
  freeBytes: (folder) => {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  },
  availableMemory,
  residentMemory,
  syncFile: async (path) => {
    // Opened and closed synchronously: asking a thread for that would cost more than the rest. Hundreds are synced each second.
    const file = openSync(path, 'r');
    try {
      await datasync(file);
    } finally {
      closeSync(file);
    }
  },
  bootId,
};
