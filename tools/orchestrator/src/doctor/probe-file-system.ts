import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '@callboard/runtime/errors';
import { openFifoWriter } from '../claude/launch/fifo-writer.ts';
import { createLaunchFolder, launchFiles, openChildEnds, punchHole } from '../claude/launch/launch-folder.ts';
import { must } from '../lib/processes/processes.ts';

/** What launches need from the file system of their folders: null if it works, otherwise what happened. */
export interface FileSystemProbe {
  fifo: string | null;
  holes: string | null;
}

const FILE_BYTES = 256 * 1024;

/**
 * Tries it in a temporary folder within `folder`.
 * @throws a system error when no folder can be created
 */
export async function probeFileSystem(folder: string): Promise<FileSystemProbe> {
  const own = await mkdtemp(join(folder, '.doctor-'));
  try {
    return {
      fifo: await complaintOf(tryFifo(join(own, 'launch'))),
      holes: await complaintOf(tryHoles(join(own, 'spool'))),
    };
  } finally {
    await rm(own, { recursive: true, force: true });
  }
}

/** Uses a launch's FIFO as a launch does. */
async function tryFifo(folder: string): Promise<void> {
  await createLaunchFolder(folder);
  const ends = await openChildEnds(folder);
  try {
    const writer = openFifoWriter(launchFiles(folder).input);
    try {
      const line = 'a line\n';
      await writer.write(line);
      const { buffer, bytesRead } = await ends.input.read(Buffer.alloc(line.length));
      if (buffer.toString('utf8', 0, bytesRead) !== line)
        throw new Error('the line that was read differs from the line that was written');
    } finally {
      writer.close();
    }
  } finally {
    await ends.close();
  }
}

/** Frees disk space as is done for the stored part of a spool. */
async function tryHoles(file: string): Promise<void> {
  await writeFile(file, Buffer.alloc(FILE_BYTES, 'x'), { flush: true });
  await must(punchHole(file, FILE_BYTES));
  const { size } = await stat(file);
  if (size !== FILE_BYTES) throw new Error('the file became shorter');
}

const complaintOf = (attempt: Promise<void>): Promise<string | null> => attempt.then(() => null, messageOf);
