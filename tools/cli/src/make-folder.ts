import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { systemCode } from '@callboard/runtime/errors';

/**
 * Makes a folder, for its owner alone, and those above it that are missing. One at a time: `mkdir` with `recursive`
 * never returns where the system says that a folder's parent is missing although it is there (seen with /proc).
 * @throws the system's error
 */
export async function makeFolder(path: string): Promise<void> {
  if (await isThere(path)) return;
  if (dirname(path) !== path) await makeFolder(dirname(path));
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (error) {
    if (systemCode(error) !== 'EEXIST') throw error; // somebody else was faster
  }
}

async function isThere(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return false;
    throw error;
  }
}
