import { execFile } from 'node:child_process';
import { appendFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { systemCode } from '@callboard/runtime/errors';
import { onTestFinished } from 'vitest';
import { temporaryFolder } from '../../../../test-support/temporary-folder.ts';

const run = promisify(execFile);

/** A file system in memory, of a few megabytes. */
export interface SmallDisk {
  readonly folder: string;
  /** Writes until not even one more byte fits. */
  fill(): Promise<void>;
  /** Removes what `fill` wrote. */
  free(): Promise<void>;
  /** Makes it read-only, or writable again. */
  remount(mode: 'ro' | 'rw'): Promise<void>;
}

/** Whether this account may mount one. */
export const canMount = process.getuid?.() === 0;

/** Mounts it until the test is over. */
export async function mountSmallDisk(megabytes: number): Promise<SmallDisk> {
  const folder = await temporaryFolder();
  await run('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=0700`, 'callboard-test', folder]);
  onTestFinished(async () => {
    await run('umount', ['--lazy', folder]);
  });
  const filler = join(folder, 'filler');
  return {
    folder,
    async fill() {
      for (let bytes = 1024 * 1024; bytes >= 1; ) {
        try {
          await appendFile(filler, Buffer.alloc(bytes));
        } catch (error) {
          if (systemCode(error) !== 'ENOSPC') throw error;
          bytes = Math.floor(bytes / 2);
        }
      }
    },
    free: () => rm(filler, { force: true }),
    async remount(mode) {
      await run('mount', ['-o', `remount,${mode}`, folder]);
    },
  };
}
