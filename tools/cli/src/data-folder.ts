import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { describeDiskError } from '@callboard/runtime/disk-errors';
import { messageOf, systemCode } from '@callboard/runtime/errors';

/**
 * Makes a folder, and any missing folders above it, for the owner alone. One at a time: `mkdir` with `recursive` never
 * returns when the system reports a missing parent that exists (seen with /proc).
 * @throws the system's error
 */
export async function makeFolder(path: string): Promise<void> {
  if (await exists(path)) return;
  if (dirname(path) !== path) await makeFolder(dirname(path));
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (error) {
    if (systemCode(error) !== 'EEXIST') throw error; // somebody else was faster
  }
}

/** Whether a file or a folder exists. @throws the system's error if that cannot be told */
export async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return false;
    throw error;
  }
}

/** Says why a data directory cannot be made or used, as a clause. */
export function explainFolderError(error: unknown): string {
  switch (systemCode(error)) {
    case 'ENOTDIR':
    case 'EEXIST':
      return 'it, or a part of its path, is not a folder';
    case 'ENOENT':
      return 'no folder can be made there';
    default:
      return describeDiskError(error) ?? messageOf(error);
  }
}
