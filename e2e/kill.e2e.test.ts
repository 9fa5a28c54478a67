import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { prompt } from '@callboard/scripted-model';
import type { Locator, Page } from 'playwright-core';
import { expect, it, onTestFinished } from 'vitest';
import { callApi } from './support/api.ts';
import { openBrowser } from './support/browser.ts';
import { install } from './support/callboard.ts';
import { claudePids, killAll, ownProcesses, processesOf } from './support/processes.ts';
import { removeOrchestrator } from './support/remove-orchestrator.ts';
import { apiOf } from './support/scene.ts';

const append = (word: string) => ({
  name: 'Bash',
  input: { command: `echo ${word} >> made.txt`, description: `Write ${word}` },
});

it('lets a person answer the same request after SIGKILL of the orchestrator, and then of everything', async () => {
  const { folder, dataDir, start, command } = await install();
  const first = await start();
  const { page, errors } = await openBrowser();
  await page.goto(first.loginLink);
  const script = prompt({ steps: [{ tools: [append('one')] }, { tools: [append('two')] }, { text: 'All finished.' }] });
  await callApi(first.origin, 'POST', '/api/stages', { projectId: 'shop', title: 'Login form', prompt: script });
  await page.getByRole('region', { name: 'Ready' }).getByRole('button', { name: 'Start' }).click();
  const dialog = page.getByRole('dialog', { name: 'Login form: Run this command?' });
  await dialog.getByText('echo one >> made.txt').waitFor();
  const [claude] = await claudePids(folder);
  expect(claude).toBeDefined();

  // Kills the orchestrator alone, at the very moment of a press. The supervisor restarts it; the page recovers without help.
  const allowFirst = dialog.filter({ hasText: 'echo one' }).getByRole('button', { name: 'Allow', exact: true });
  let recover = () => {};
  await pressWhile(page, allowFirst, async () => {
    recover = await removeOrchestrator(first.supervisor.pid);
    await page.getByText('The orchestrator does not answer.').waitFor();
  });
  await dialog.getByText('Not delivered yet').waitFor();
  recover();
  await dialog.getByText('echo two >> made.txt').waitFor();
  expect(await claudePids(folder)).toEqual([claude]);

  // Everything of Callboard.
  const top = first.supervisor.pid ?? expect.fail('it has no process');
  killAll(await ownProcesses(top));
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

it('says when an answer did not arrive, and keeps the form with its input', async () => {
  const { start } = await install();
  const { loginLink, origin, supervisor, stop } = await start();
  onTestFinished(stop);
  const { page } = await openBrowser();
  await page.clock.install();
  await page.goto(loginLink);
  const api = apiOf(origin);
  await api.start(await api.stage('Login form', [{ tools: [append('one')] }, { text: 'All finished.' }]));
  const dialog = page.getByRole('dialog', { name: 'Login form: Run this command?' });
  const reason = dialog.getByRole('textbox', { name: 'Reason' });
  const deny = dialog.getByRole('button', { name: 'Deny', exact: true });
  await reason.fill('Use the table');
  const recover = await removeOrchestrator(supervisor.pid);
  await page.getByText('The orchestrator does not answer.').waitFor();
  await deny.click();
  await dialog.getByText('Not delivered yet').waitFor();
  // The input is lost with the page, which asks before a person leaves it.
  const asked: string[] = [];
  page.once('dialog', (question) => {
    asked.push(question.type());
    return question.dismiss();
  });
  await page.close({ runBeforeUnload: true });
  await expect.poll(() => asked).toEqual(['beforeunload']);
  const problem = dialog.getByRole('alert');
  const hasGivenUp = async () => {
    await page.clock.fastForward(2_000);
    return problem.isVisible();
  };
  await expect.poll(hasGivenUp).toBe(true);
  expect(await problem.textContent()).toMatch(/orchestrator/);
  expect(await reason.inputValue()).toBe('Use the table');
  expect(await deny.isDisabled()).toBe(true);

  recover();
  await deny.click();
  await page.getByRole('region', { name: 'Review' }).getByText('Login form').waitFor();
  const { decisions } = await api.get('/api/decisions');
  expect(decisions).toMatchObject([{ outcome: 'denied', reason: 'Use the table', delivery: 'confirmed' }]);
});

it('leaves sessions alive on Ctrl-C, and says how to end them', async () => {
  const { folder, start } = await install();
  const { supervisor, loginLink, origin, stop } = await start();
  const said: string[] = [];
  supervisor.stderr?.on('data', (data) => said.push(String(data)));
  const { page } = await openBrowser();
  await page.goto(loginLink);
  const script = prompt({ steps: [{ tools: [append('one')] }, { text: 'Done.' }] });
  const created = await callApi(origin, 'POST', '/api/stages', { projectId: 'shop', title: 'A', prompt: script });
  const { stage } = await created.json();
  expect((await callApi(origin, 'POST', `/api/stages/${stage.id}/start`)).status).toBe(202);
  await expect.poll(() => claudePids(folder)).toHaveLength(1);
  await stop();
  await expect.poll(() => said.join('')).toContain('callboard down'); // this may be read a moment after its end
  expect(await claudePids(folder)).toHaveLength(1);
});

/** One press of the pointer; something happens between its down and its up. */
async function pressWhile(page: Page, button: Locator, happens: () => Promise<void>): Promise<void> {
  // For half a second after it was drawn a form accepts no press.
  await expect.poll(() => button.getAttribute('aria-disabled')).not.toBe('true');
  const box = await button.boundingBox();
  if (box === null) throw new Error('the button is not shown');
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.mouse.down();
  await happens();
  await page.mouse.up();
}
