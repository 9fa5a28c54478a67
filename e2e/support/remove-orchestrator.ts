import { readFile } from 'node:fs/promises';
import { onTestFinished } from 'vitest';
import { partPid } from './processes.ts';

/**
 * Kills the orchestrator, and suspends the supervisor, which would restart it, until the returned function is called or
 * the test is over.
 */
export async function removeOrchestrator(top: number | undefined): Promise<() => void> {
  const orchestrator = await partPid(top ?? -1, 'orchestrator');
  if (orchestrator === null) throw new Error('no orchestrator runs');
  const status = await readFile(`/proc/${orchestrator}/status`, 'utf8');
  const keeper = Number(/^PPid:\s+(\d+)$/m.exec(status)?.[1]);
  process.kill(keeper, 'SIGSTOP');
  let isHeld = true;
  const bringBack = () => {
    if (isHeld) process.kill(keeper, 'SIGCONT');
    isHeld = false;
  };
  onTestFinished(bringBack);
  process.kill(orchestrator, 'SIGKILL');
  return bringBack;
}
