import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** What the servers and the spools use at one moment, in MB. */
export interface Sample {
  /** Bytes that the session has printed until then: the length of the spool. */
  printed: number;
  orchestrator: number;
  'web server': number;
  /** Disk space of the spool. */
  spool: number;
  /** The part of it that is not yet ingested. */
  unread: number;
}

const MB = 1024 * 1024;

export async function takeSample(pids: { orchestrator: number; webServer: number }, dataDir: string): Promise<Sample> {
  const spools = await spoolsBelow(join(dataDir, 'sessions'));
  const taken = takenIn(dataDir);
  const sum = (values: number[]) => values.reduce((total, value) => total + value, 0) / MB;
  const printed = sum(spools.map(({ size }) => size));
  return {
    printed,
    unread: printed - taken / MB,
    orchestrator: await residentMb(pids.orchestrator),
    'web server': await residentMb(pids.webServer),
    spool: sum(spools.map(({ blocks }) => blocks * 512)), // blocks of 512 bytes, whatever the file system's own
  };
}

/** Bytes of the running spools that the orchestrator has ingested. */
function takenIn(dataDir: string): number {
  const store = new DatabaseSync(join(dataDir, 'store.sqlite'), { readOnly: true, timeout: 60_000 });
  try {
    const row = store
      .prepare("select coalesce(sum(spool_offset), 0) as bytes from launches where state <> 'ended'")
      .get();
    return Number(row?.bytes);
  } finally {
    store.close();
  }
}

async function spoolsBelow(sessions: string) {
  const names = await readdir(sessions, { recursive: true }).catch(() => []);
  const files = names.filter((name) => name.endsWith('out.jsonl')).map((name) => join(sessions, name));
  const stats = await Promise.all(files.map((file) => stat(file).catch(() => null)));
  return stats.filter((found) => found !== null);
}

async function residentMb(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? Number.NaN) / 1024;
}
