import { readFile } from 'node:fs/promises';
import { onTestFinished } from 'vitest';
import { partPid } from './processes.ts';

/** Like `removePart`. */
export const removeOrchestrator = (top: number | undefined): Promise<() => void> => removePart(top, 'orchestrator');

/**
 * Kills a server, and suspends the supervisor, which would restart it, until the returned function is called or
 * the test is over.
 */
export async function removePart(top: number | undefined, part: 'orchestrator' | 'web server'): Promise<() => void> {
  const pid = await partPid(top ?? -1, part);
  if (pid === null) throw new Error(`no ${part} runs`);
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const connection = Number(/^PPid:\s+(\d+)$/m.exec(status)?.[1]);
  process.kill(connection, 'SIGSTOP');
  let isHeld = true;
  const restart = () => {
    if (isHeld) process.kill(connection, 'SIGCONT');
    isHeld = false;
  };
  onTestFinished(restart);
  process.kill(pid, 'SIGKILL');
  return restart;
}
