import { readdir, readFile, stat } from 'node:fs/promises';
import { dirname, join, normalize } from 'node:path/posix';
import { systemCode } from '@callboard/runtime/errors';
import type { GitResult } from '../../platform/git/run-git.ts';

/** The files of a repository, on the disk or in a commit. Paths are relative to its top folder, with `/`. */
export interface RepositoryTree {
  /** Returns the text of a file with normalised line endings and without trailing white space; follows symbolic links. Null if there is none. */
  read(path: string): Promise<string | null>;
  /** Lists all files below a folder, sorted; follows symbolic links. Null if there is no such folder. */
  list(folder: string): Promise<string[] | null>;
}

/** Scripts are shorter. */
const MAX_FILE_BYTES = 4 * 1024 * 1024;
/** Folders of commands and skills are shallow; links may form a cycle. */
const DEEPEST = 5;
const MAX_FILES = 2_000;

/** Removes differences that line endings of a checkout, or git's output, may cause. */
const comparable = (text: string) => text.replaceAll('\r\n', '\n').trimEnd();

const NOT_THERE = ['ENOENT', 'ENOTDIR', 'EISDIR', 'ELOOP', 'EACCES'];

function nullIfMissing(error: unknown): null {
  if (NOT_THERE.includes(systemCode(error) ?? '')) return null;
  throw error;
}

/** Returns the files of a folder on the disk. */
export function folderTree(root: string): RepositoryTree {
  async function below(folder: string, depth: number, found: string[]): Promise<void> {
    const names = await readdir(join(root, folder)).catch(nullIfMissing);
    for (const name of (names ?? []).toSorted()) {
      if (found.length >= MAX_FILES) return;
      const path = join(folder, name);
      const kind = await stat(join(root, path)).catch(nullIfMissing);
      if (kind?.isFile()) found.push(path);
      if (kind?.isDirectory() && depth < DEEPEST) await below(path, depth + 1, found);
    }
  }
  return {
    async read(path) {
      const kind = await stat(join(root, path)).catch(nullIfMissing);
      if (kind === null || !kind.isFile() || kind.size > MAX_FILE_BYTES) return null;
      const text = await readFile(join(root, path), 'utf8').catch(nullIfMissing);
      return text === null ? null : comparable(text);
    },
    async list(folder) {
      const kind = await stat(join(root, folder)).catch(nullIfMissing);
      if (!kind?.isDirectory()) return null;
      const found: string[] = [];
      await below(folder, 0, found);
      return found;
    },
  };
}

interface Entry {
  type: 'file' | 'folder';
  object: string;
}

const LINK = '120000';

/**
 * Returns the files of a commit, by default the current one of a checkout.
 * @param git runs git in the checkout; only reads objects
 */
export function headTree(git: (args: readonly string[]) => Promise<GitResult>, revision = 'HEAD'): RepositoryTree {
  /** Runs `ls-tree` on a path; with a trailing slash, on the contents of the folder; empty, on those of the top folder. */
  async function rows(path: string): Promise<{ mode: string; type: string; object: string; path: string }[]> {
    const { failed, stdout } = await git(['ls-tree', '-z', revision, ...(path === '' ? [] : ['--', path])]);
    if (failed) return [];
    return stdout.split('\0').flatMap((row) => {
      const match = /^(\d+) (\w+) ([0-9a-f]+)\t(.*)$/s.exec(row);
      if (match === null) return [];
      const [, mode = '', type = '', object = '', path = ''] = match;
      return [{ mode, type, object, path }];
    });
  }

  const blob = async (object: string) => {
    const { failed, stdout } = await git(['cat-file', 'blob', object]);
    return failed ? null : stdout;
  };

  /** Resolves each part of a path as the file system would; null if it points nowhere inside the repository. */
  async function resolve(path: string, links = 0): Promise<{ path: string; entry: Entry } | null> {
    const parts = normalize(path).split('/');
    for (let length = 1; length <= parts.length; length++) {
      const here = parts.slice(0, length).join('/');
      // The top folder is listed once, whatever is looked for in it.
      const row = length === 1 ? (await known('')).find((one) => one.path === here) : (await known(here))[0];
      if (row === undefined || links > DEEPEST) return null;
      if (row.mode === LINK) {
        const target = (await blob(row.object)) ?? '..';
        return target.startsWith('/')
          ? null
          : resolve(join(dirname(here), target.trimEnd(), ...parts.slice(length)), links + 1);
      }
      if (length === parts.length)
        return { path: here, entry: { type: row.type === 'tree' ? 'folder' : 'file', object: row.object } };
    }
    return null;
  }

  const asked = new Map<string, ReturnType<typeof rows>>();
  function known(path: string): ReturnType<typeof rows> {
    const found = asked.get(path) ?? rows(path);
    asked.set(path, found);
    return found;
  }

  async function below(folder: string, depth: number, found: string[]): Promise<void> {
    const place = await resolve(folder);
    if (place?.entry.type !== 'folder') return;
    for (const row of await known(`${place.path}/`)) {
      if (found.length >= MAX_FILES) return;
      const path = join(folder, row.path.slice(place.path.length + 1));
      const isFolder = row.type === 'tree' || (row.mode === LINK && (await resolve(path))?.entry.type === 'folder');
      if (!isFolder) found.push(path);
      else if (depth < DEEPEST) await below(path, depth + 1, found);
    }
  }

  return {
    async read(path) {
      const place = await resolve(path);
      if (place?.entry.type !== 'file') return null;
      const text = await blob(place.entry.object);
      return text === null || text.length > MAX_FILE_BYTES ? null : comparable(text);
    },
    async list(folder) {
      if ((await resolve(folder))?.entry.type !== 'folder') return null;
      const found: string[] = [];
      await below(folder, 0, found);
      return found;
    },
  };
}
