import { bootId, identify, type ProcessIdentity } from '@callboard/runtime/process-identity';
import { isGoneWithin, terminate } from '../claude/processes/end-processes.ts';
import { findCommandProcesses } from '../claude/processes/marked-processes.ts';
import { readProcessTable } from '../claude/processes/process-table.ts';

/** How often to search again for what was started while the rest was being ended. */
const ROUNDS = 10;
/** How long the outermost process of a sandbox may take after the last one inside. */
const AFTER_LAST_MS = 1_000;

export interface EndingCommand {
  id: string;
  /** Its first process; null if it is not known. */
  process: ProcessIdentity | null;
  /** Whether that is the sandbox around it: its end ends everything inside at once. */
  isSandboxed: boolean;
  /** Processes of it that were seen. */
  known?: readonly ProcessIdentity[];
}

/**
 * Ends all processes of a command: those that carry its marker, those that were seen, and what these have started. Each gets
 * SIGTERM, and SIGKILL after the grace period.
 * @returns whether all are gone
 */
export async function endCommand(ending: EndingCommand, graceMs: number): Promise<boolean> {
  const { process, isSandboxed } = ending;
  for (let round = 0; round < ROUNDS; round++) {
    const found = await processesOf(ending);
    const inner = isSandboxed ? found.filter(({ pid }) => pid !== process?.pid) : found;
    if (inner.length === 0) break;
    await Promise.all(inner.map((identity) => terminate(identity, graceMs)));
  }
  if (process !== null && !(await isGoneWithin(process, isSandboxed ? AFTER_LAST_MS : 0)))
    await terminate(process, graceMs);
  return (await processesOf(ending)).length === 0;
}

/** Returns the living processes of a command. */
export async function processesOf({ id, process, known = [] }: EndingCommand): Promise<ProcessIdentity[]> {
  const [rows, marked] = await Promise.all([readProcessTable(), findCommandProcesses()]);
  const boot = await bootId();
  const all = [...(process === null ? [] : [process]), ...known].filter((one) => boot === null || one.bootId === boot);
  const seen = new Set(all.map(({ pid, startTime }) => `${pid} ${startTime}`));
  const pids = new Set(marked.get(id) ?? []);
  for (const { pid, startTime } of rows) if (seen.has(`${pid} ${startTime}`)) pids.add(pid);
  for (let before = -1; before !== pids.size; ) {
    before = pids.size;
    for (const row of rows) if (pids.has(row.parent)) pids.add(row.pid);
  }
  const identities = await Promise.all([...pids].map(identify));
  return identities.filter((identity) => identity !== null);
}
