import { statSync } from 'node:fs';
import { access, cp, lstat, mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { messageOf, systemCode } from '@callboard/runtime/errors';
import { Rejection } from '../lib/errors.ts';

/**
 * Returns a path as a person typed it, with `~` for the home folder.
 * @throws Rejection `bad_request` for the home of another account
 */
export function expandHome(path: string, home: string): string {
  if (path === '~' || path.startsWith('~/')) return join(home, path.slice(1));
  if (/^~[a-z_][\w-]*\//i.test(path))
    throw new Rejection('bad_request', `${path} names the home folder of another account. Write the path in full.`);
  return path;
}

/**
 * Returns a fingerprint of the files' state, following links. It stays the same until somebody writes, creates, removes or
 * replaces one of them: not even the owner of a file can set back its change time (ctime). Synchronous because it is called
 * again and again: the kernel answers in a tenth of the time that asking a thread takes.
 */
export function signOf(paths: readonly string[]): string {
  return paths.map(signOfOne).join('\n');
}

function signOfOne(path: string): string {
  try {
    const found = statSync(path, { bigint: true, throwIfNoEntry: false });
    return found === undefined
      ? '-'
      : [found.dev, found.ino, found.size, found.mtimeNs, found.ctimeNs, found.mode].join();
  } catch (error) {
    return messageOf(error); // for example, a part of the path is not a folder
  }
}

/**
 * Moves a file or a folder. Creates the missing parent folders of the destination. If the destination is on another file
 * system, copies it, syncs the copy to disk, and only then removes the original.
 * @throws a system error; the original is untouched then
 */
export async function moveFile(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true, mode: 0o700 });
  try {
    await rename(from, to);
  } catch (error) {
    if (systemCode(error) !== 'EXDEV') throw error;
    await copyAcross(from, to);
    await rm(from, { recursive: true, force: true });
  }
}

async function copyAcross(from: string, to: string): Promise<void> {
  try {
    const asItIs = { recursive: true, verbatimSymlinks: true, preserveTimestamps: true };
    await cp(from, to, { ...asItIs, errorOnExist: true, force: false });
    await sync(to);
    await syncFolder(dirname(to));
  } catch (error) {
    await rm(to, { recursive: true, force: true }); // half a copy is of no use
    throw error;
  }
}

async function sync(path: string): Promise<void> {
  const info = await lstat(path);
  if (info.isDirectory()) {
    for (const name of await readdir(path)) await sync(join(path, name));
    await syncFolder(path);
  } else if (info.isFile()) await syncFolder(path);
}

async function syncFolder(path: string): Promise<void> {
  await using handle = await open(path, 'r');
  await handle.sync();
}

/** Whether something exists at this path, following symbolic links. Also false if the path cannot be read. Never rejects. */
export const pathExists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
