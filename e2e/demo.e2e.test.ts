import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, realpath, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { waitFor } from '../test-support/until.ts';
import { seeDemo } from './support/demo-scene.ts';
import { claudePids, processesOf } from './support/processes.ts';

const BIN = fileURLToPath(new URL('../tools/cli/bin/callboard.js', import.meta.url));

/** The demo creates a project and starts Callboard; when it ends, it ends all its sessions first. */
const slowStep = { withinMs: 60_000 };

/** Starts the demo with its own folder for temporary files; the folder is empty again when the demo has ended. */
async function startDemo(...args: string[]) {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'callboard-e2e-')));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const env = { ...process.env, TMPDIR: folder };
  const child = spawn(process.execPath, [BIN, 'demo', '--no-open', ...args], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = once(child, 'exit');
  onTestFinished(async () => {
    child.kill('SIGINT');
    await waitFor('the end of the demo', exited, slowStep);
  });
  const said: string[] = [];
  child.stderr.on('data', (data) => said.push(String(data)));
  const ready = Promise.race([once(createInterface({ input: child.stdout }), 'line'), exited.then(() => [''])]);
  const [line] = await waitFor('the login link of the demo', ready, { ...slowStep, lastSeen: () => said.join('') });
  const loginLink = /^Callboard ready: (\S+)$/.exec(String(line))?.[1];
  if (loginLink === undefined) throw new Error(`it did not start: ${said.join('')}`);
  return { folder, child, exited, loginLink, said };
}

// `npm test` sees the demo of the package (`package`).
it('shows a newcomer what Callboard does, and leaves nothing behind', async () => {
  const { folder, child, exited, loginLink } = await startDemo('--port', '0', '--orchestrator-port', '0');
  await seeDemo(loginLink);
  expect(await claudePids(folder)).not.toEqual([]);
  child.kill('SIGINT');
  expect(await waitFor('the end of the demo', exited, slowStep)).toEqual([0, null]);
  expect(await processesOf(folder)).toEqual([]);
  expect(await readdir(folder)).toEqual([]);
});

it('uses another port than an occupied one, and is cleaned up even when it is killed', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  onTestFinished(() => void other.close());
  const address = other.address();
  const port = address !== null && typeof address === 'object' ? address.port : 0;
  const { folder, child, loginLink, said } = await startDemo('--port', String(port), '--orchestrator-port', '0');
  await expect.poll(() => said.join('')).toContain(`port ${port} is taken`);
  expect(new URL(loginLink).port).not.toBe(String(port));
  const named = () => /callboard link --data-dir (\S+)/.exec(said.join(''))?.[1] ?? '';
  await expect.poll(named).not.toBe('');
  const ask = (command: string) => promisify(execFile)(process.execPath, [BIN, command, '--data-dir', named()]);
  expect(new URL((await ask('link')).stdout).origin).toBe(new URL(loginLink).origin);
  await expect(ask('login')).rejects.toMatchObject({ stderr: expect.stringContaining('this is a demo') });
  child.kill('SIGKILL');
  await expect.poll(() => processesOf(folder)).toEqual([]);
  await expect.poll(() => readdir(folder)).toEqual([]);
  await expect(fetch(loginLink)).rejects.toThrow();
});
