import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { prompt } from '@callboard/scripted-model';
import { expect, it, onTestFinished } from 'vitest';
import { openBrowser } from './support/browser.ts';
import { install } from './support/callboard.ts';
import { claudePids, processesOf } from './support/processes.ts';

const append = (word: string) => ({
  name: 'Bash',
  input: { command: `echo ${word} >> made.txt`, description: `Write ${word}` },
});

it('lets the same request be answered after SIGKILL of the orchestrator, and then of everything', async () => {
  const { folder, dataDir, start, command } = await install();
  const first = await start();
  const { page, errors } = await openBrowser();
  await page.goto(first.loginLink);
  const script = prompt({ steps: [{ tools: [append('one')] }, { tools: [append('two')] }, { text: 'All finished.' }] });
  await page.request.post(`${first.origin}/api/stages`, {
    data: { projectId: 'shop', title: 'Login form', prompt: script },
    headers: { origin: first.origin },
  });
  await page.getByRole('region', { name: 'Ready' }).getByRole('button', { name: 'Start' }).click();
  const dialog = page.getByRole('dialog', { name: 'Login form wants to run a command' });
  await dialog.getByText('echo one >> made.txt').waitFor();
  const [claude] = await claudePids(folder);
  expect(claude).toBeDefined();

  // The orchestrator alone: the supervisor brings it back, the page comes back by itself.
  process.kill(await orchestratorPid(first.supervisor.pid), 'SIGKILL');
  const nextAsked = dialog.getByText('echo two >> made.txt');
  const allowFirst = dialog.filter({ hasText: 'echo one' }).getByRole('button', { name: 'Allow', exact: true });
  // The button goes off while the connection is lost: a press in that very moment is not taken, and a person presses again.
  for (let press = 0; press < 6 && !(await nextAsked.isVisible()); press++) {
    await allowFirst.click({ timeout: 5_000 }).catch(() => undefined);
    await nextAsked.waitFor({ timeout: 5_000 }).catch(() => undefined);
  }
  await nextAsked.waitFor();
  expect(await claudePids(folder)).toEqual([claude]);

  // Everything of Callboard.
  for (const pid of [first.supervisor.pid, ...(await serverPids(first.supervisor.pid))])
    if (pid !== undefined) process.kill(pid, 'SIGKILL');
  const second = await start();
  onTestFinished(second.stop);
  expect(await claudePids(folder)).toEqual([claude]);
  await page.goto(second.loginLink); // another port: browsers keep its logins apart
  await dialog.getByText('echo two >> made.txt').waitFor();
  await page.getByRole('button', { name: 'Allow', exact: true }).click();
  await page.getByRole('region', { name: 'Review' }).getByText('Login form').waitFor();
  expect(await readFile(join(dataDir, 'worktrees', 'shop', 'STAGE-1', 'made.txt'), 'utf8')).toBe('one\ntwo\n');
  expect(errors.filter((error) => !/Failed to load resource|ERR_/.test(error))).toEqual([]);

  const down = await command('down');
  expect(down).toMatchObject({ code: 0, output: expect.stringContaining('Ended 1 session') });
  expect(await processesOf(folder)).toEqual([]);
});

it('leaves sessions alive on Ctrl-C, and says how to end them', async () => {
  const { folder, start } = await install();
  const { supervisor, loginLink, origin, stop } = await start();
  const said: string[] = [];
  supervisor.stderr?.on('data', (data) => said.push(String(data)));
  const { page } = await openBrowser();
  await page.goto(loginLink);
  const script = prompt({ steps: [{ tools: [append('one')] }, { text: 'Done.' }] });
  const headers = { origin };
  const created = await page.request.post(`${origin}/api/stages`, {
    data: { projectId: 'shop', title: 'A', prompt: script },
    headers,
  });
  const { stage } = await created.json();
  expect((await page.request.post(`${origin}/api/stages/${stage.id}/start`, { headers })).status()).toBe(202);
  await stop();
  expect(said.join('')).toContain('callboard down');
  expect(await claudePids(folder)).toHaveLength(1);
});

async function serverPids(supervisor: number | undefined): Promise<number[]> {
  const children = await readFile(`/proc/${supervisor}/task/${supervisor}/children`, 'utf8').catch(() => '');
  const direct = children.split(' ').filter(Boolean).map(Number);
  const nested = await Promise.all(direct.map(serverPids));
  return [...direct, ...nested.flat()];
}

async function orchestratorPid(supervisor: number | undefined): Promise<number> {
  for (const pid of await serverPids(supervisor)) {
    const line = await readFile(`/proc/${pid}/cmdline`, 'utf8');
    if (line.includes('tools/orchestrator/src')) return pid;
  }
  throw new Error('no orchestrator runs');
}
