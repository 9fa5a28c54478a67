import { run } from '../../lib/processes/processes.ts';

/**
 * Gives the part of a spool that is taken in and committed back to the disk by punching a hole; its length stays, and
 * the process goes on appending (seen). Where the file system or the system cannot do it, the disk space is simply
 * kept until the launch ends.
 */
export async function reclaimSpool(spool: string, end: number): Promise<void> {
  await run({ command: 'fallocate', args: ['--punch-hole', '--offset', '0', '--length', String(end), spool] });
}
