import { readFile } from 'node:fs/promises';
import { onTestFinished } from 'vitest';

/** The processes below one, at any depth. */
export async function serverPids(supervisor: number | undefined): Promise<number[]> {
  const children = await readFile(`/proc/${supervisor}/task/${supervisor}/children`, 'utf8').catch(() => '');
  const direct = children.split(' ').filter(Boolean).map(Number);
  const nested = await Promise.all(direct.map(serverPids));
  return [...direct, ...nested.flat()];
}

async function orchestratorPid(supervisor: number | undefined): Promise<number> {
  for (const pid of await serverPids(supervisor)) {
    const line = await readFile(`/proc/${pid}/cmdline`, 'utf8');
    if (line.includes('tools/orchestrator/dist')) return pid;
  }
  throw new Error('no orchestrator runs');
}

/** Kills it, and holds whoever would bring it back until told to go on; or until the test is over. */
export async function takeAwayOrchestrator(top: number | undefined): Promise<() => void> {
  const orchestrator = await orchestratorPid(top);
  const status = await readFile(`/proc/${orchestrator}/status`, 'utf8');
  const keeper = Number(/^PPid:\s+(\d+)$/m.exec(status)?.[1]);
  process.kill(keeper, 'SIGSTOP');
  let isHeld = true;
  const goOn = () => {
    if (isHeld) process.kill(keeper, 'SIGCONT');
    isHeld = false;
  };
  onTestFinished(goOn);
  process.kill(orchestrator, 'SIGKILL');
  return goOn;
}
