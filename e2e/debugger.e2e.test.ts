import { readdir, readFile, readlink } from 'node:fs/promises';
import { expect, it, onTestFinished } from 'vitest';
import { install } from './support/callboard.ts';
import { descendants, partPid } from './support/processes.ts';

/** The port on which Node opens its debugger, in the format of `/proc/net/tcp`. */
const DEBUGGER = (9229).toString(16).toUpperCase();

/** Whether this process listens on the debugger's port. */
async function isDebugged(pid: number): Promise<boolean> {
  const lines = (await readFile(`/proc/${pid}/net/tcp`, 'utf8')).split('\n').map((line) => line.trim().split(/\s+/));
  const inodes = lines.flatMap(([, local, , state, , , , , , inode]) =>
    local?.endsWith(`:${DEBUGGER}`) && state === '0A' ? [`socket:[${inode}]`] : [],
  );
  const open = await readdir(`/proc/${pid}/fd`);
  const targets = await Promise.all(open.map((fd) => readlink(`/proc/${pid}/fd/${fd}`).catch(() => '')));
  return targets.some((target) => inodes.includes(target));
}

it('opens no debugger for another process of the same account, and keeps running', async () => {
  const { start } = await install({}, onTestFinished, true);
  const { supervisor, origin, stop } = await start();
  onTestFinished(stop);
  const parts = async () =>
    Promise.all(
      (['supervisor', 'orchestrator', 'web server'] as const).map((part) => partPid(Number(supervisor.pid), part)),
    );
  const before = await parts();
  expect(new Set(before).size).toBe(3);
  // Includes the helper that starts other programs for the orchestrator, while it exists; those programs are not Callboard's.
  const all = [Number(supervisor.pid), ...(await descendants(supervisor.pid ?? -1))];
  const lines = await Promise.all(all.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')));
  const pids = all.filter((_, index) => /tools\/[\w-]+\/dist/.test(lines[index] ?? ''));
  expect(pids).toEqual(expect.arrayContaining(before));
  for (const pid of pids) process.kill(pid, 'SIGUSR1');
  // Node opens it in a separate thread, within milliseconds; the following steps take longer.
  for (let n = 0; n < 5; n++)
    expect(await (await fetch(`${origin}/api/health`)).json()).toMatchObject({ status: 'ok' });
  expect((await Promise.all(pids.map(isDebugged))).filter(Boolean)).toEqual([]);
  expect(await parts()).toEqual(before);
});
