import { access, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { prompt } from '@callboard/scripted-model';
import { expect, it, onTestFinished } from 'vitest';
import { parseMetrics, sampleValue } from '../test-support/prometheus.ts';
import { QUESTIONS } from '../test-support/questions.ts';
import { callApi } from './support/api.ts';
import { openBrowser } from './support/browser.ts';
import { install } from './support/callboard.ts';

it('takes a newcomer from the printed link to the end of the first stage', async () => {
  const { start, repo, dataDir, model } = await install();
  const { loginLink, origin, stop } = await start();
  onTestFinished(stop);
  const { page, errors } = await openBrowser();
  await page.goto(loginLink);
  for (const name of ['Backlog', 'Ready', 'Running', 'Needs you', 'Review', 'Done']) {
    await page.getByRole('region', { name }).waitFor();
  }

  // Writes a stage.
  const steps = [
    {
      text: 'I begin with the **route**.',
      tools: [{ name: 'Bash', input: { command: 'echo made >> made.txt', description: 'Make the file' } }],
    },
    { tools: [{ name: 'AskUserQuestion', input: { questions: QUESTIONS } }] },
    { text: 'All finished.' },
  ];
  await page.getByRole('button', { name: 'New stage' }).first().click();
  const form = page.getByRole('dialog', { name: 'New stage' });
  await form.getByRole('textbox', { name: 'Title' }).fill('Login form');
  await form.getByRole('textbox', { name: 'Prompt' }).fill(prompt({ steps }, 'Build the login form'));
  await form.getByRole('button', { name: 'Add to board' }).click();
  await page.getByRole('region', { name: 'Ready' }).getByText('Login form').waitFor();

  // Starts it, and gets a request for permission.
  await page.getByRole('region', { name: 'Ready' }).getByRole('button', { name: 'Start' }).click();
  const asked = page.getByRole('dialog', { name: 'Login form: Run this command?' });
  await asked.getByText('echo made >> made.txt').waitFor();
  await page.getByRole('button', { name: 'Allow', exact: true }).click();

  // Gets a question: Submit waits for both answers.
  const question = page.getByRole('dialog', { name: /Login form/ });
  await question.getByRole('radio', { name: 'SQLite' }).check();
  await expect.poll(() => question.getByRole('button', { name: 'Submit' }).isDisabled()).toBe(true);
  await question.getByRole('checkbox', { name: 'Search' }).check();
  await question.getByRole('checkbox', { name: 'Export' }).check();
  await question.getByRole('button', { name: 'Submit' }).click();

  // Sees Claude continue to its end.
  await page.getByRole('region', { name: 'Review' }).getByText('Login form').click();
  await page.getByText('All finished.').waitFor();
  await page.getByText(/Allowed by/).waitFor();
  expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain('Search, Export');
  expect(await readFile(join(dataDir, 'worktrees', 'shop', 'STAGE-1', 'made.txt'), 'utf8')).toBe('made\n');
  await expect(access(join(repo, 'made.txt'))).rejects.toThrow();

  // Sends a follow-up message.
  const message = page.getByRole('textbox', { name: 'Message', exact: true });
  await message.fill(prompt({ steps: [{ text: 'One thing more.' }] }, 'And then?'));
  await message.press('Enter');
  await page.getByText('One thing more.').waitFor();
  await expect.poll(() => message.inputValue()).toBe('');
  expect(errors).toEqual([]);

  // Prometheus reads what has happened, under the names that the documentation and the dashboard give.
  expect((await callApi(origin, 'POST', '/api/logins/metrics')).status).toBe(403);
  await page.getByRole('button', { name: 'Account' }).click();
  await page.getByRole('menuitem', { name: 'Logins' }).click();
  await page.getByRole('button', { name: 'Make a token for metrics' }).click();
  const token = await page.getByRole('region', { name: 'Metrics' }).getByRole('status').locator('code').textContent();
  const scraped = await fetch(`${origin}/metrics`, { headers: { authorization: `Bearer ${token}` } });
  const samples = parseMetrics(await scraped.text());
  for (const kind of ['approval', 'question']) {
    expect(sampleValue(samples, 'callboard_answer_latency_seconds_count', { kind })).toBe(1);
  }
  expect(sampleValue(samples, 'callboard_orchestrator_up')).toBe(1);
  const known = new Set(samples.flatMap(({ name }) => [name, name.replace(/_(bucket|sum|count)$/, '')]));
  for (const file of ['grafana-dashboard.json', 'monitoring.md']) {
    const named =
      (await readFile(join(import.meta.dirname, '../docs', file), 'utf8')).match(/callboard_[a-z_]+/g) ?? [];
    expect([...new Set(named)].filter((name) => !known.has(name))).toEqual([]);
  }
  expect((await callApi(origin, 'GET', '/metrics')).status).toBe(401);
});

it('puts the form into the transcript on the asking stage’s own page, and keeps it over a reload', async () => {
  const { start } = await install();
  const { loginLink, origin, stop } = await start();
  onTestFinished(stop);
  const { page, errors } = await openBrowser({ width: 390, height: 844 });
  await page.goto(loginLink);
  await page.getByRole('region', { name: 'Backlog' }).waitFor({ state: 'attached' });
  const api = async (path: string, data: object) => {
    const response = await callApi(origin, 'POST', path, data);
    expect(response.ok).toBe(true);
    return response.json();
  };
  const tools = [{ name: 'Bash', input: { command: 'touch a.txt', description: 'Make it' } }];
  const { stage } = await api('/api/stages', {
    projectId: 'shop',
    title: 'Search index',
    prompt: prompt({ steps: [{ tools }, { text: 'Well.' }] }),
  });
  await page.goto(`${origin}/stages/${stage.id}`);
  await page.getByRole('button', { name: 'Start' }).click();
  const inline = page.getByRole('form', { name: 'Search index: Run this command?' });
  await inline.waitFor();
  await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
  await page.reload();
  await inline.getByRole('textbox', { name: 'Reason' }).fill('Not like this');
  await inline.getByRole('button', { name: 'Deny', exact: true }).click();
  await page.getByText(/Denied by/).waitFor();
  await page.getByText('Well.').waitFor();
  expect(errors).toEqual([]);
});
