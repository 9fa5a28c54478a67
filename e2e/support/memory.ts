import { readFile } from 'node:fs/promises';
import { ownProcesses } from './processes.ts';

const KB_PER_MB = 1024;

/**
 * The memory of a Callboard, in MB, by process: the process that was started and all of its descendants that belong to it (a `claude`
 * has its own session). This is the proportional share (PSS), as if nothing else on the machine ran the same Node: memory that several
 * Callboard processes share counts once, with the first of them.
 */
export async function memoryOf(startedPid: number): Promise<{ total: number; processes: Record<string, number> }> {
  const processes: Record<string, number> = {};
  const counted = new Map<string, number>();
  for (const pid of await ownProcesses(startedPid)) {
    const maps = await readFile(`/proc/${pid}/smaps`, 'utf8').catch(() => '');
    const kb = mappings(maps).reduce((sum, mapping) => sum + ownShare(mapping, counted), 0);
    if (kb > 0) processes[`${await nameOf(pid)} ${pid}`] = kb / KB_PER_MB;
  }
  return { total: Object.values(processes).reduce((sum, mb) => sum + mb, 0), processes };
}

interface Mapping {
  /** The file and the offset in it; null if it maps no file. */
  of: string | null;
  pss: number;
  private: number;
  shared: number;
}

function ownShare(mapping: Mapping, counted: Map<string, number>): number {
  if (mapping.of === null) return mapping.pss;
  const before = counted.get(mapping.of) ?? 0;
  counted.set(mapping.of, Math.max(before, mapping.shared));
  return mapping.private + Math.max(0, mapping.shared - before);
}

/** Each begins with a line of addresses, rights, offset, device and inode. */
const HEAD = /^[0-9a-f]+-[0-9a-f]+ \S+ ([0-9a-f]+) (\S+) (\d+)/;

function mappings(smaps: string): Mapping[] {
  return smaps.split(/^(?=[0-9a-f]+-[0-9a-f]+ )/m).flatMap((block) => {
    const [, offset, device, inode] = HEAD.exec(block) ?? [];
    if (inode === undefined) return [];
    const sum = (field: RegExp) => [...block.matchAll(field)].reduce((total, [, kb]) => total + Number(kb), 0);
    return {
      of: inode === '0' ? null : `${device} ${inode} ${offset}`,
      pss: sum(/^Pss:\s+(\d+)/gm),
      private: sum(/^Private_(?:Clean|Dirty):\s+(\d+)/gm),
      shared: sum(/^Shared_(?:Clean|Dirty):\s+(\d+)/gm),
    };
  });
}

async function statOf(pid: number): Promise<string[]> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

/** CPU that a process has used, in seconds; the kernel counts in hundredths. */
export async function cpuSeconds(pid: number): Promise<number> {
  const fields = await statOf(pid);
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

async function nameOf(pid: number): Promise<string> {
  const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
  return /tools\/([\w-]+)\/(dist|bin)/.exec(line)?.slice(1).join(' ') ?? line.split('\0')[0] ?? '';
}
