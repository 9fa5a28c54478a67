import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { expect, it, onTestFinished } from 'vitest';
import { endMarked, findMarkedProcesses, LAUNCH_MARKER } from './process-table.ts';

it.runIf(process.platform === 'linux')('ends processes that are started while the others are being ended', async () => {
  const launchId = randomUUID();
  const left = async () => (await findMarkedProcesses()).get(launchId) ?? [];
  onTestFinished(async () => {
    for (const pid of await left()) process.kill(pid, 'SIGKILL');
  });
  const script = 'trap "sleep 600 & exit" TERM; echo up; while :; do sleep 0.05; done';
  const child = spawn('sh', ['-c', script], {
    env: { PATH: process.env.PATH, [LAUNCH_MARKER]: launchId },
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  await once(child.stdout, 'data');
  expect(await endMarked([launchId], 30_000)).toBe(true);
  expect(await left()).toEqual([]);
});
