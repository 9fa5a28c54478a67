import { readFile, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { OperationalError } from '../lib/errors.ts';
import type { Layout, Place } from './bubblewrap.ts';

/** Where sockets and other people's files lie on every Linux. */
const EMPTIED = ['/run', '/var/run', '/tmp', '/var/tmp'];
/** Parts of them that programs need: the system itself on NixOS, and the name servers. */
const NEEDED = ['/run/current-system', '/etc/resolv.conf'];
/** A process that may write to the worktree does not write these: they decide what others run there. */
const KEPT = ['.git', '.claude', '.mcp.json'];

/**
 * Looks at what there is of a place.
 * @throws OperationalError `isolation_place` where the worktree or the data directory is not there
 */
export async function layOut({ folder, dataDir, network, ...place }: Place): Promise<Layout> {
  const own = { folder: await required(folder), dataDir: await required(dataDir), network };
  const emptied = await present(EMPTIED);
  const readable = await present(place.readable);
  const writable = await present(place.writable);
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
    kept: await present(KEPT.map((name) => join(own.folder, name))),
    hiddenFolders: hidden.filter((_, index) => isFolder[index]),
    hiddenFiles: hidden.filter((_, index) => !isFolder[index]),
  };
}

const isWithin = (path: string, folders: readonly string[]) =>
  folders.some((folder) => path === folder || path.startsWith(`${folder}/`));

/** Where they lead to, each once; those that are not there, or may not be looked at, are left out. */
async function present(paths: readonly string[]): Promise<string[]> {
  const found = await Promise.all(paths.map((path) => realpath(path).catch(() => null)));
  return [...new Set(found.filter((path) => path !== null))];
}

async function required(path: string): Promise<string> {
  const [found] = await present([path]);
  if (found === undefined) throw new OperationalError('isolation_place', `${path} is not there.`);
  return found;
}

/** Unix sockets with a path: on a read-only file system they can be connected to all the same. */
async function listeningSockets(): Promise<string[]> {
  const lines = (await readFile('/proc/net/unix', 'utf8')).split('\n').slice(1);
  return lines.map((line) => line.trim().split(/\s+/).slice(7).join(' ')).filter((path) => path.startsWith('/'));
}
