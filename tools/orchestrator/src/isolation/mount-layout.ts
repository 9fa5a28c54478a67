import { readFile, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { OperationalError } from '../lib/errors.ts';
import type { IsolationOptions, MountLayout } from './bubblewrap.ts';

/** Folders with sockets and other people's files on every Linux. */
const EMPTIED = ['/run', '/var/run', '/tmp', '/var/tmp'];
/** Paths in these folders that programs need: the system itself on NixOS, and the name servers. */
const NEEDED = ['/run/current-system', '/etc/resolv.conf'];
/** Read-only even in a writable worktree: they decide what others run there. */
const SAVED = ['.git', '.claude', '.mcp.json'];

/**
 * Resolves the options against this machine.
 * @throws OperationalError `isolation_place` when the worktree or the data directory does not exist
 */
export async function resolveLayout({ folder, dataDir, network, ...place }: IsolationOptions): Promise<MountLayout> {
  const own = { folder: await required(folder), dataDir: await required(dataDir), network };
  const emptied = await present(EMPTIED);
  const readable = await present(place.readable);
  const writable = await present(place.writable);
  const ownWritable = await present(place.ownWritable ?? []);
  const shown = [...readable, ...writable];
  const sockets = (await listeningSockets()).filter(
    (path) => isWithin(path, shown) || !isWithin(path, [...emptied, own.dataDir, own.folder]),
  );
  const hidden = await present([...place.hidden, ...sockets]);
  const isFolder = await Promise.all(hidden.map(async (path) => (await stat(path)).isDirectory()));
  return {
    ...own,
    emptied,
    readable: [...(await present(NEEDED)).filter((path) => isWithin(path, emptied)), ...readable],
    writable,
    ownWritable,
    kept: await present(SAVED.map((name) => join(own.folder, name))),
    hiddenFolders: hidden.filter((_, index) => isFolder[index]),
    hiddenFiles: hidden.filter((_, index) => !isFolder[index]),
  };
}

const isWithin = (path: string, folders: readonly string[]) =>
  folders.some((folder) => path === folder || path.startsWith(`${folder}/`));

/** The real paths, without duplicates. Paths that do not exist, or may not be accessed, are omitted. */
async function present(paths: readonly string[]): Promise<string[]> {
  const found = await Promise.all(paths.map((path) => realpath(path).catch(() => null)));
  return [...new Set(found.filter((path) => path !== null))];
}

async function required(path: string): Promise<string> {
  const [found] = await present([path]);
  if (found === undefined) throw new OperationalError('isolation_place', `${path} does not exist.`);
  return found;
}

/** Unix sockets with a path. Even on a read-only file system a process can connect to them. */
async function listeningSockets(): Promise<string[]> {
  const lines = (await readFile('/proc/net/unix', 'utf8')).split('\n').slice(1);
  return lines.map((line) => line.trim().split(/\s+/).slice(7).join(' ')).filter((path) => path.startsWith('/'));
}
