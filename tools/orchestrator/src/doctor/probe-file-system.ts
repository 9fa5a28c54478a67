import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openFifoWriter } from '../claude/launch/fifo-writer.ts';
import { createLaunchFolder, launchFiles, openChildEnds } from '../claude/launch/launch-folder.ts';
import { messageOf } from '../lib/errors.ts';
import { must } from '../lib/processes/processes.ts';

/** What launches need of the file system they lie on: null where it can do it, else what happened. */
export interface FileSystemProbe {
  fifo: string | null;
  holes: string | null;
}

const FILE_BYTES = 256 * 1024;

/**
 * Tries it out in a temporary folder within `folder`.
 * @throws a system error where no folder can be made
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

/** A launch's FIFO, used as a launch uses it. */
async function tryFifo(folder: string): Promise<void> {
  await createLaunchFolder(folder);
  const ends = await openChildEnds(folder);
  try {
    const writer = openFifoWriter(launchFiles(folder).input);
    try {
      const line = 'a line\n';
      await writer.write(line);
      const { buffer, bytesRead } = await ends.input.read(Buffer.alloc(line.length));
      if (buffer.toString('utf8', 0, bytesRead) !== line) throw new Error('what is read is not what was written');
    } finally {
      writer.close();
    }
  } finally {
    await ends.close();
  }
}

/** What was read of a spool is given back to the disk in this way. */
async function tryHoles(file: string): Promise<void> {
  await writeFile(file, Buffer.alloc(FILE_BYTES, 'x'), { flush: true });
  await must({ command: 'fallocate', args: ['--punch-hole', '--offset', '0', '--length', String(FILE_BYTES), file] });
  const { size } = await stat(file);
  if (size !== FILE_BYTES) throw new Error('the file became shorter');
}

const complaintOf = (attempt: Promise<void>): Promise<string | null> => attempt.then(() => null, messageOf);
