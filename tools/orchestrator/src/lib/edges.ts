import { closeSync, fdatasync, openSync, statfsSync } from 'node:fs';
import { promisify } from 'node:util';
import { bootId } from '@callboard/runtime/process-identity';
import { v4, v7 } from 'uuid';

/** The outside world as far as tests swap it: the clocks, the ids, the disk and the machine's power. */
export interface Edges {
  /** The time of day: for what is shown and stored. Somebody may set it forward or back. */
  now(): Date;
  /** Milliseconds on a clock that only goes forward: for every wait. */
  uptimeMs(): number;
  /** A time-ordered id (UUID v7), for rows. */
  newId(): string;
  /** A random id (UUID v4), for what goes to the CLI, which mints ids of the same kind. */
  newWireId(): string;
  /** How many bytes this account may still write to the disk that the folder lies on. @throws a system error */
  freeBytes(folder: string): number;
  /** Resolves once what was written into the file is on disk; it holds up no other work meanwhile. @throws a system error */
  syncFile(path: string): Promise<void>;
  /** Which boot of the machine this is; null where the system does not tell. */
  bootId(): Promise<string | null>;
}

const datasync = promisify(fdatasync);

export const nodeEdges: Edges = {
  now: () => new Date(),
  uptimeMs: () => performance.now(),
  newId: () => v7(),
  newWireId: () => v4(),
  freeBytes: (folder) => {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  },
  syncFile: async (path) => {
    // Opened here: to ask a thread for that, and to close it again, would cost more than the rest. Hundreds are synced each second.
    const file = openSync(path, 'r');
    try {
      await datasync(file);
    } finally {
      closeSync(file);
    }
  },
  bootId,
};
