import { cp, lstat, mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { systemCode } from '@callboard/runtime/errors';

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
