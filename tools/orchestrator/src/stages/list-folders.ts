import type { Dirent } from 'node:fs';
import { lstat, readdir, realpath, stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, sep } from 'node:path';
import type { Folder, FolderList } from '@callboard/contract';
import { systemCode } from '@callboard/runtime/errors';
import { Rejection } from '../lib/errors.ts';
import { expandHome } from '../lib/expand-home.ts';
import { pathExists } from '../lib/path-exists.ts';

export interface FolderDeps {
  home: string;
  /** Callboard's own folder, which is not listed. */
  dataDir: string;
}

const MAX = 500;
/** Folders of the system that hold no files of anybody. */
const NOT_LISTED = ['/proc', '/sys', '/dev'];

/**
 * Lists the folders within a folder, for choosing a repository. Files and hidden folders are left out, and nothing of their
 * content is read.
 * @throws Rejection `bad_request`, `unknown_folder`, `folder_unreadable`
 */
export async function listFolders({ home, dataDir }: FolderDeps, given?: string): Promise<FolderList> {
  const wanted = given === undefined ? await existingFolder(home) : expandHome(given, home);
  if (!isAbsolute(wanted) || wanted.includes('\0'))
    throw new Rejection('bad_request', `${given} is not an absolute path. Start it with / or ~.`);
  const path = await realpath(wanted).catch((error: unknown) => Promise.reject(refusal(error, wanted)));
  const isOff = (folder: string) =>
    [...NOT_LISTED, dataDir].some((off) => folder === off || folder.startsWith(`${off}${sep}`));
  if (isOff(path)) throw new Rejection('folder_unreadable', `${path} is a system folder, which is not listed.`);
  if (!(await stat(path)).isDirectory()) throw new Rejection('unknown_folder', `${path} is a file, not a folder.`);
  const entries = await readdir(path, { withFileTypes: true }).catch((error: unknown) =>
    Promise.reject(refusal(error, path)),
  );
  const shown = entries.filter((entry) => !entry.name.startsWith('.') && !isOff(join(path, entry.name)));
  const found = (await Promise.all(shown.map((entry) => folderOf(path, entry)))).filter((folder) => folder !== null);
  found.sort((a, b) => Number(b.isRepository) - Number(a.isRepository) || a.name.localeCompare(b.name, 'en'));
  return {
    folder: { name: basename(path) || path, path, isRepository: await isRepository(path) },
    parent: path === dirname(path) ? null : dirname(path),
    folders: found.slice(0, MAX),
    isCut: found.length > MAX,
  };
}

/** A service account may have no home folder: the nearest one above it that exists is listed instead. */
async function existingFolder(path: string): Promise<string> {
  return path === dirname(path) || (await pathExists(path)) ? path : existingFolder(dirname(path));
}

async function folderOf(parent: string, entry: Dirent): Promise<Folder | null> {
  const path = join(parent, entry.name);
  const isFolder = entry.isSymbolicLink()
    ? await stat(path).then(
        (found) => found.isDirectory(),
        () => false,
      )
    : entry.isDirectory();
  return isFolder ? { name: entry.name, path, isRepository: await isRepository(path) } : null;
}

/** A worktree has a file `.git`. Whether git accepts it shows when it is chosen. */
const isRepository = (path: string): Promise<boolean> =>
  lstat(join(path, '.git')).then(
    () => true,
    () => false,
  );

function refusal(error: unknown, path: string): unknown {
  switch (systemCode(error)) {
    case 'ENOENT':
    case 'ENOTDIR':
      return new Rejection('unknown_folder', `There is no folder ${path}.`);
    case 'EACCES':
    case 'EPERM':
      return new Rejection('folder_unreadable', `Callboard is not allowed to read ${path}.`);
    default:
      return error;
  }
}
