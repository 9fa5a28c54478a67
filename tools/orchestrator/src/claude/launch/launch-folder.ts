import { type FileHandle, mkdir, open } from 'node:fs/promises';
import { join } from 'node:path';
import { must, run } from '../../lib/processes/processes.ts';

/**
 * The files of one launch. Their folder is never used again: a line that a dead process left in a FIFO would reach the
 * next process on the same path (seen).
 */
export const launchFiles = (folder: string) => ({
  /** `claude`'s stdin. */
  input: join(folder, 'in.fifo'),
  /** `claude`'s stdout: the spool. */
  spool: join(folder, 'out.jsonl'),
  errors: join(folder, 'err.log'),
  /** Why Callboard ended the process while the store was out of reach, in words. */
  endReason: join(folder, 'end-reason.txt'),
});

/** The same files while a living process has them open, even after the folder was deleted (Linux; seen). */
export const openFilesOf = (pid: number) => ({ input: `/proc/${pid}/fd/0`, spool: `/proc/${pid}/fd/1` });

/** Creates the folder and its FIFO, accessible to the owner only. Node has no call for `mkfifo`, hence the command. */
export async function createLaunchFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await must({ command: 'mkfifo', args: ['-m', '600', launchFiles(folder).input] });
}

/**
 * What a child gets as its input, output and errors. The FIFO is opened read-write, so that the child never sees the end of
 * its input when we die, and the spool is opened for appending.
 */
export function childFiles(folder: string): { path: string; flags: string }[] {
  const { input, spool, errors } = launchFiles(folder);
  return [
    { path: input, flags: 'r+' },
    { path: spool, flags: 'a' },
    { path: errors, flags: 'a' },
  ];
}

/** The child's ends. The parent closes them once the child has its own copies. */
export interface ChildEnds {
  input: FileHandle;
  output: FileHandle;
  errors: FileHandle;
  close(): Promise<void>;
}

/** Opens the child's ends in this process. */
export async function openChildEnds(folder: string): Promise<ChildEnds> {
  const opened: FileHandle[] = [];
  const close = async () => {
    for (const handle of opened) await handle.close();
  };
  try {
    for (const { path, flags } of childFiles(folder)) opened.push(await open(path, flags, 0o600));
    const [input, output, errors] = opened;
    if (input === undefined || output === undefined || errors === undefined) throw new Error('an end is missing');
    return { input, output, errors, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The command that frees the first `length` bytes of a file by punching a hole; the file keeps its length. */
export const punchHole = (file: string, length: number) => ({
  command: 'fallocate',
  args: ['--punch-hole', '--offset', '0', '--length', String(length), file],
});

/**
 * Returns the disk space of the stored part of a spool; the process keeps appending (seen). Where the file system cannot
 * do this, the space stays in use until the launch ends. Never rejects.
 */
export async function reclaimSpool(spool: string, end: number): Promise<void> {
  await run(punchHole(spool, end));
}
