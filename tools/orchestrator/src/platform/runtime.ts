import { closeSync, fdatasync, openSync, readFileSync, statfsSync } from 'node:fs';
import { freemem } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { bootId } from '@callboard/runtime/process-identity';
import { v4, v7 } from 'uuid';

const KIB = 1_024;

/** Reads a file; null if it is missing or may not be read. */
type ReadText = (path: string) => string | null;

function readText(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

/**
 * How many bytes new processes can use without swapping: what the machine has available, or less where a control group of this
 * process (a container, a systemd slice) allows less. Where there is no `/proc`, the free memory as the system tells it.
 */
export function availableMemory(read: ReadText = readText): number {
  const available = kibOf(read('/proc/meminfo'), 'MemAvailable');
  if (available === null) return freemem();
  return Math.min(available, ...roomInGroups(read));
}

/** How much memory a process holds; null if it is gone, or the system does not tell. */
export const residentMemory = (pid: number, read: ReadText = readText): number | null =>
  kibOf(read(`/proc/${pid}/status`), 'VmRSS');

/** Reads a line like `MemAvailable:   22864000 kB`, in bytes. */
function kibOf(text: string | null, name: string): number | null {
  const found = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(text ?? '')?.[1];
  return found === undefined ? null : Number(found) * KIB;
}

/** How a version of control groups names its files. */
interface GroupFiles {
  root: string;
  limit: string;
  used: string;
  cache: string;
}

const V2: GroupFiles = {
  root: '/sys/fs/cgroup',
  limit: 'memory.max',
  used: 'memory.current',
  cache: 'inactive_file',
};
const V1: GroupFiles = {
  root: '/sys/fs/cgroup/memory',
  limit: 'memory.limit_in_bytes',
  used: 'memory.usage_in_bytes',
  cache: 'total_inactive_file',
};

/** The room in this process's memory groups that have a limit. A container may see its own group as the root. */
function roomInGroups(read: ReadText): number[] {
  return (read('/proc/self/cgroup') ?? '').split('\n').flatMap((line) => {
    const [, controllers = '', path] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? [];
    if (path === undefined || (controllers !== '' && !controllers.split(',').includes('memory'))) return [];
    return withParents(path).flatMap((group) => roomIn(controllers === '' ? V2 : V1, group, read) ?? []);
  });
}

/** `/a/b`, `/a`, `/`. */
function withParents(path: string): string[] {
  return path === '/' ? ['/'] : [path, ...withParents(dirname(path))];
}

function roomIn(version: GroupFiles, group: string, read: ReadText): number | null {
  const numberIn = (name: string) => {
    const text = read(join(version.root, group, name))?.trim() ?? '';
    return /^\d+$/.test(text) ? Number(text) : null; // `max`: no limit
  };
  const limit = numberIn(version.limit);
  const used = numberIn(version.used);
  if (limit === null || used === null) return null;
  const stat = read(join(version.root, group, 'memory.stat')) ?? '';
  // Pages of files that were not used lately are given back before anything is killed.
  const cache = Number(new RegExp(`^${version.cache} (\\d+)$`, 'm').exec(stat)?.[1] ?? 0);
  return Math.max(0, limit - used + cache);
}

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

export type { Logger } from 'pino';
