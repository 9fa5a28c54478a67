import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { prompt } from '@callboard/scripted-model';
import type { Page } from 'playwright-core';
import { expect, it, onTestFinished } from 'vitest';
import { callApi } from '../support/api.ts';
import { openBrowser } from '../support/browser.ts';
import { type Installation, install, type Running } from '../support/callboard.ts';

type Steps = Parameters<typeof prompt>[0]['steps'];

interface Desk extends Installation, Pick<Running, 'origin' | 'loginLink'> {
  page: Page;
  errors: string[];
  newPage(): Promise<Page>;
  /** Makes a stage and starts it; resolves with its id. */
  begin(title: string, steps: Steps, fields?: object): Promise<string>;
  send(method: 'GET' | 'POST' | 'PATCH', path: string, data?: object): Promise<{ [name: string]: unknown }>;
}

/** Callboard with a page that is logged in. */
async function openDesk(): Promise<Desk> {
  const installation = await install();
  const { origin, loginLink, stop } = await installation.start();
  onTestFinished(stop);
  const { page, errors, context } = await openBrowser();
  await page.goto(loginLink);
  await page.getByRole('region', { name: 'Backlog' }).waitFor();
  const send: Desk['send'] = async (method, path, data) => {
    const response = await callApi(origin, method, path, data);
    const text = await response.text();
    expect(`${response.status} ${text}`).toMatch(/^2/);
    return JSON.parse(text);
  };
  const begin: Desk['begin'] = async (title, steps, fields = {}) => {
    const made = await send('POST', '/api/stages', { projectId: 'shop', title, prompt: prompt({ steps }), ...fields });
    const { id } = made.stage as { id: string };
    await send('POST', `/api/stages/${id}/start`);
    return id;
  };
  return { ...installation, origin, loginLink, page, errors, newPage: () => context.newPage(), begin, send };
}

const bash = (command: string) => ({ tools: [{ name: 'Bash', input: { command, description: 'Do it' } }] });
const done = { text: 'All finished.' };
const wants = (title: string) => ({ name: `${title} wants to run a command` });
const exact = (name: string) => ({ name, exact: true });

it('allows a rule for good, gives it to the next start, and takes it back', async () => {
  const { page, errors, begin, origin } = await openDesk();
  await begin('Login form', [bash('npm pkg get name'), done]);
  const dialog = page.getByRole('dialog', wants('Login form'));
  await dialog.getByRole('button', { name: 'Always allow …' }).click();
  await dialog.getByText('Bash(npm pkg *)').waitFor();
  await dialog.getByText(/nothing is written into the repository/).waitFor();
  await dialog.getByRole('combobox', { name: 'For' }).selectOption('the project');
  await dialog.getByRole('button', exact('Always allow')).click();
  await page.getByRole('region', { name: 'Review' }).getByText('Login form').waitFor();

  // Another stage of the project is not asked.
  await begin('Search index', [bash('npm pkg get version'), done]);
  await page.getByRole('region', { name: 'Review' }).getByText('Search index').waitFor();

  await page.goto(`${origin}/inbox`);
  await page.getByRole('button', exact('Rules')).click();
  const rules = page.getByRole('dialog', exact('Rules'));
  await rules.getByText('Bash(npm pkg *)').waitFor();
  await rules.getByText('all stages of the project').waitFor();
  await rules.getByRole('button', { name: 'Remove Bash(npm pkg *)' }).click();
  await rules.getByText(/^No rules yet/).waitFor();
  await rules.getByRole('button', { name: 'Close' }).click();

  await begin('Footer', [bash('npm pkg get license'), done]);
  await page.getByRole('form', wants('Footer')).waitFor();
  expect(errors).toEqual([]);
});

it('runs a command as it was edited, and tells at the field what would not run', async () => {
  const { page, errors, begin, dataDir } = await openDesk();
  const write = {
    name: 'Write',
    input: { file_path: join(dataDir, 'worktrees', 'shop', 'STAGE-1', 'b.txt'), content: 'one\n' },
  };
  const id = await begin('Login form', [bash('echo one >> a.txt'), { tools: [write] }, done]);
  const dialog = page.getByRole('dialog', { name: /^Login form wants to/ });
  await dialog.getByRole('button', { name: 'Edit before allowing' }).click();
  const command = dialog.getByRole('textbox', { name: 'Command' });
  await expect.poll(() => command.inputValue()).toBe('echo one >> a.txt');
  await command.fill('');
  await expect.poll(() => dialog.getByRole('button', exact('Allow')).isDisabled()).toBe(true);
  await command.fill('echo two >> a.txt');
  await dialog.getByRole('button', exact('Allow')).click();

  // Any other input is edited as JSON.
  await page.getByRole('dialog', { name: /Login form wants to write/ }).waitFor();
  await dialog.getByRole('button', { name: 'Edit before allowing' }).click();
  const input = dialog.getByRole('textbox', { name: 'Input as JSON' });
  await input.fill('{\n  "file_path": oops\n}');
  await dialog.getByText(/^Line 2: this is not readable: oops/).waitFor();
  await expect.poll(() => dialog.getByRole('button', exact('Allow')).isDisabled()).toBe(true);
  await input.fill('{ "file_path": 7 }');
  await dialog.getByRole('button', exact('Allow')).click();
  await expect.poll(() => input.getAttribute('aria-invalid')).toBe('true');
  const path = join(dataDir, 'worktrees', 'shop', id, 'c.txt');
  await input.fill(JSON.stringify({ file_path: path, content: 'three\n' }));
  await dialog.getByRole('button', exact('Allow')).click();
  await page.getByRole('region', { name: 'Review' }).getByText('Login form').waitFor();
  expect(await readFile(join(dataDir, 'worktrees', 'shop', id, 'a.txt'), 'utf8')).toBe('two\n');
  expect(await readFile(path, 'utf8')).toBe('three\n');

  // The transcript says what ran, not only what Claude asked for.
  await page.getByRole('region', { name: 'Review' }).getByText('Login form').click();
  const transcript = page.getByRole('region', { name: 'Transcript' });
  await expect.poll(() => transcript.getByText(/^Allowed with changes by/).count()).toBe(2);
  await transcript.getByText('echo two >> a.txt').waitFor();
  expect(errors.filter((error) => !error.includes('400'))).toEqual([]);
});

it('sends a plan back with its comments, and accepts the next with the mode that follows', async () => {
  const { page, errors, begin, model, send } = await openDesk();
  const plan = '# Login\n\nFirst the **route**, then the form.\n\n- one step\n- another step\n';
  const write = { name: 'Write', input: { file_path: '{{planFile}}', content: plan } };
  const exit = { name: 'ExitPlanMode', input: {} };
  const id = await begin(
    'Login form',
    [{ tools: [write] }, { tools: [exit] }, { text: 'Once more.', tools: [exit] }, done],
    { permissionMode: 'plan' },
  );
  const dialog = page.getByRole('dialog', exact('Login form has a plan'));
  await dialog.getByRole('heading', { name: 'Login', exact: true }).waitFor();
  await dialog.getByText('First the route, then the form.').hover();
  await dialog.getByRole('button', { name: 'Comment on: First the route, then the form.' }).click();
  await dialog.getByRole('textbox', { name: 'Comment' }).fill('The form first');
  await dialog.getByRole('button', { name: 'Add comment' }).click();
  await dialog.getByRole('list', { name: 'Comments' }).getByText('The form first').waitFor();
  // Words that are selected can be commented on as well.
  await dialog.getByText('another step').selectText();
  await dialog.getByRole('button', { name: 'Comment on the selection' }).click();
  // One that is not added is not lost: not over a reload, not by an acceptance, and it goes along with the others.
  await dialog.getByRole('textbox', { name: 'Comment' }).fill('Which one?');
  await expect
    .poll(async () => JSON.stringify(await send('GET', `/api/sessions/${id}/drafts`)))
    .toContain('Which one?');
  await page.reload();
  await dialog.getByText('2 comments to send back').waitFor();
  expect(await dialog.getByRole('textbox', { name: 'Comment' }).inputValue()).toBe('Which one?');
  await dialog.getByRole('textbox', { name: 'Reason' }).fill('Smaller, please');
  await dialog.getByRole('button', exact('Accept plan')).click();
  await dialog.getByText(/^“Accept plan” leaves out what you wrote \(2 comments and the reason\)/).waitFor();
  await dialog.getByRole('button', exact('Send back')).click();

  const told = () => JSON.stringify(model.requests.at(-1)?.messages);
  await expect.poll(() => told().includes('> First the route, then the form.\\nThe form first')).toBe(true);
  await expect.poll(() => dialog.getByText('2 comments to send back').count()).toBe(0);
  expect(told().includes('> another step\\nWhich one?')).toBe(true);
  expect(told().includes('Smaller, please')).toBe(true);
  await dialog.getByRole('combobox', { name: 'Once accepted' }).selectOption('Edit freely');
  await dialog.getByRole('button', exact('Accept plan')).click();
  await page.getByRole('region', { name: 'Review' }).getByText('Login form').waitFor();
  expect(await send('GET', `/api/sessions/${id}`)).toMatchObject({ session: { mode: 'acceptEdits' } });
  expect(errors).toEqual([]);
});

it('keeps what was answered and not sent: over a reload, on another device, until it is sent', async () => {
  const { page, errors, begin, send, origin, model, command } = await openDesk();
  const options = [
    { label: 'SQLite', description: 'One file', preview: 'CREATE TABLE a (x INTEGER);' },
    { label: 'PostgreSQL', description: 'A server', preview: 'CREATE TABLE a (x int8);' },
  ];
  const questions = [
    { question: 'Which database?', header: 'Database', multiSelect: false, options },
    {
      question: 'Which name?',
      header: 'Name',
      multiSelect: false,
      options: options.map(({ label }) => ({ label, description: label })),
    },
  ];
  const id = await begin('Login form', [{ tools: [{ name: 'AskUserQuestion', input: { questions } }] }, done]);
  const dialog = page.getByRole('dialog', { name: 'Login form has 2 questions' });
  const first = dialog.getByRole('group', { name: 'Which database?' });
  await first.getByText('CREATE TABLE a (x INTEGER);').waitFor();
  await first.getByRole('radio', { name: 'PostgreSQL' }).check();
  await dialog.getByText('1 of 2 answered, not yet: Name').waitFor();
  await first.getByText('CREATE TABLE a (x int8);').waitFor();
  await dialog.getByRole('group', { name: 'Which name?' }).getByRole('textbox', { name: 'Other' }).fill('Ledger');
  await page.reload();
  const other = dialog.getByRole('group', { name: 'Which name?' }).getByRole('textbox', { name: 'Other' });
  await expect.poll(() => other.inputValue()).toBe('Ledger');
  await expect.poll(() => first.getByRole('radio', { name: 'PostgreSQL' }).isChecked()).toBe(true);

  const elsewhere = await openBrowser({ width: 390, height: 844 });
  await elsewhere.page.goto((await command('link')).output.trim());
  await elsewhere.page.waitForURL(`${origin}/`);
  await elsewhere.page.goto(`${origin}/inbox`);
  const form = elsewhere.page.getByRole('form', { name: 'Login form has 2 questions' });
  await elsewhere.page.getByRole('link', { name: /Login form/ }).click();
  const otherName = form.getByRole('group', { name: 'Which name?' }).getByRole('textbox', { name: 'Other' });
  await expect.poll(() => otherName.inputValue()).toBe('Ledger');
  await otherName.fill('Journal');
  await expect.poll(() => other.inputValue()).toBe('Journal');
  await dialog.getByRole('button', { name: 'Submit' }).click();
  await page.getByRole('region', { name: 'Review' }).getByText('Login form').waitFor();
  expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain('Journal');
  await elsewhere.page.getByText(/^Answered elsewhere by /).waitFor();
  await expect.poll(async () => (await send('GET', `/api/sessions/${id}/drafts`)).drafts).toEqual([]);
  expect([...errors, ...elsewhere.errors]).toEqual([]);
});

it('takes no key for an answer that was meant for another dialog, or for a text', async () => {
  const { page, errors, begin, send } = await openDesk();
  const dialog = page.getByRole('dialog', wants('Login form'));
  const newStage = page.getByRole('dialog', exact('New stage'));
  const typed = (name: string) => page.getByRole('textbox', { name });
  const isFocused = (name: string) => typed(name).evaluate((element) => element === document.activeElement);
  const waiting = async () => (await send('GET', '/api/board')).pending as unknown[];

  // It waits until a dialog that is open is closed; the key that closes that one does not set it aside.
  await page.getByRole('button', exact('New stage')).click();
  await expect.poll(() => isFocused('Title')).toBe(true);
  await begin('Login form', [bash('touch a.txt'), done]);
  await expect.poll(() => page.title()).toBe('(1) Callboard');
  const card = page.getByRole('region', exact('Request'));
  await card.getByText('touch a.txt').waitFor();
  expect(await dialog.count()).toBe(0);
  await page.keyboard.type('a bad idea');
  expect(await typed('Title').inputValue()).toBe('a bad idea');
  await page.keyboard.press('Escape');
  await newStage.waitFor({ state: 'detached' });
  await dialog.getByText('touch a.txt').waitFor();

  // The palette opens over it and has the keys.
  await page.keyboard.press('Control+k');
  await page.keyboard.type('a');
  await expect.poll(() => isFocused('Search or command')).toBe(true);
  await page.keyboard.type('ad');
  await page.keyboard.press('Escape');
  await typed('Search or command').waitFor({ state: 'detached' });
  await expect.poll(() => dialog.getByRole('button', exact('Allow')).isEnabled()).toBe(true);
  expect(await waiting()).toHaveLength(1);
  await dialog.getByRole('button', { name: 'Set aside' }).click();

  // Over a text that is being written it stands in the corner, until somebody looks; then the text has the focus again.
  await page.emulateMedia({ reducedMotion: 'reduce' }); // then it stands there at once
  const find = typed('Find stages');
  await find.fill('Please look at ');
  await begin('Footer', [bash('touch b.txt'), done], {
    pipeline: [{ name: 'Build', prompt: 'Build it.', gate: 'none' }],
  });
  const second = page.getByRole('dialog', wants('Footer'));
  await card.getByText('Footer').waitFor();
  await card.getByText('STAGE-2', { exact: true }).waitFor();
  expect(await second.count()).toBe(0);
  await page.keyboard.type('a bad idea');
  expect(await find.inputValue()).toBe('Please look at a bad idea');
  // Held down since before the request was drawn, A decides nothing however long it is held.
  await page.keyboard.down('a');
  await card.getByRole('button', exact('Look')).click();
  await second.getByText('1 of 2, 1 set aside').waitFor();
  await second.getByText('Build', { exact: true }).waitFor();
  const allow = second.getByRole('button', exact('Allow'));
  await page.keyboard.press('Enter');
  await expect.poll(() => allow.getAttribute('aria-keyshortcuts')).toBe('a');
  await page.keyboard.down('a');
  await page.keyboard.up('a');
  expect(await allow.isEnabled()).toBe(true);
  expect(await waiting()).toHaveLength(2);
  await page.keyboard.press('Escape');
  await second.waitFor({ state: 'detached' });
  await expect.poll(() => find.evaluate((element) => element === document.activeElement)).toBe(true);
  expect(await waiting()).toHaveLength(2);

  expect(errors).toEqual([]);
});

it('tells in words when another page has answered first', async () => {
  const { page, errors, begin, newPage, origin, send } = await openDesk();
  await begin('Login form', [bash('touch a.txt'), bash('touch b.txt'), done]);
  const dialog = page.getByRole('dialog', wants('Login form'));
  await dialog.getByText('touch a.txt').waitFor();
  const second = await newPage();
  await second.goto(`${origin}/inbox`);
  const form = second.getByRole('form', wants('Login form'));
  await form.getByText('touch a.txt').waitFor();
  await form.getByRole('textbox', { name: 'Reason' }).fill('Not this');
  await form.getByRole('button', exact('Deny')).click();
  // The form goes from the other page, which says why; the one that answered is told nothing.
  await page.getByText(/^Denied elsewhere by .*, (just now|\d+ s ago)$/).waitFor();
  await page.getByText('Login form asks to run: touch a.txt').waitFor();
  await dialog.getByText('touch b.txt').waitFor();
  await form.getByText('touch b.txt').waitFor();
  await expect.poll(() => second.getByText(/elsewhere/).count()).toBe(0);
  await dialog.getByRole('button', exact('Allow')).click();
  await second.getByText(/^Allowed elsewhere by /).waitFor();
  await second.getByText(/Nothing waits for you/).waitFor();

  // An answer that was on its way when another one came first was not used, and is told so.
  const id = await begin('Search index', [bash('touch c.txt'), done]);
  const third = page.getByRole('dialog', wants('Search index'));
  await third.getByText('touch c.txt').waitFor();
  await page.route('**/approve', async (route) => {
    const { requestId } = route.request().postDataJSON();
    await send('POST', `/api/sessions/${id}/approve`, { requestId, decision: 'deny' });
    await route.continue();
  });
  await third.getByRole('button', exact('Allow')).click();
  const told = page.getByRole('alert').filter({ hasText: 'Search index asks to run: touch c.txt' });
  await told.getByText(/^Denied elsewhere by /).waitFor();
  await told.getByText('Your answer was not used.').waitFor();
  expect(await told.locator('time').getAttribute('title')).not.toBe('');
  expect(errors.filter((error) => !error.includes('409'))).toEqual([]);
});

it('is worked through by keyboard in the inbox, equal requests together', async () => {
  const { page, errors, begin, origin, dataDir } = await openDesk();
  await page.goto(`${origin}/inbox`);
  const ids: string[] = [];
  for (const [title, command] of [
    ['Login form', 'touch a.txt'],
    ['Search index', 'touch same.txt'],
    ['Footer', 'touch same.txt'],
    ['Header', 'touch d.txt'],
  ] as const) {
    ids.push(await begin(title, [bash(command), done]));
    await page.getByRole('link', { name: new RegExp(`^${title}`) }).waitFor();
  }
  await page.getByText('2 identical requests').waitFor();
  await page.getByRole('form', wants('Login form')).waitFor();
  await page.keyboard.press('j');
  await page.getByRole('form', wants('Search index')).waitFor();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  await page.getByRole('form', wants('Header')).waitFor();
  await page.keyboard.press('k');
  await page.getByRole('form', wants('Footer')).waitFor();
  for (let i = 0; i < 3; i += 1) await page.keyboard.press('k');
  const form = page.getByRole('form', wants('Login form'));
  await form.waitFor();
  // K turned to it; its keys work half a second after it was drawn.
  const deny = form.getByRole('button', exact('Deny'));
  await expect.poll(() => deny.getAttribute('aria-keyshortcuts')).toBe('d');
  await page.keyboard.press('d');
  // The next one follows.
  await page.getByRole('form', wants('Search index')).waitFor();

  await page.getByRole('button', { name: 'Allow all 2' }).click();
  const report = page.getByRole('status').filter({ hasText: '2 requests allowed.' });
  await report.getByText('Search index: allowed').waitFor();
  await report.getByText('Footer: allowed').waitFor();
  for (const id of ids.slice(1, 3))
    await expect
      .poll(() => readFile(join(dataDir, 'worktrees', 'shop', id, 'same.txt'), 'utf8').catch(() => null))
      .toBe('');

  await page.getByRole('form', wants('Header')).waitFor();

  // A stage that has stopped without a request is worked through in the same way.
  const refused = { status: 403, type: 'permission_error', message: 'No access', times: 1 };
  await begin('Nightly export', [{ error: refused, text: 'Exported.' }]);
  const stopped = page.getByRole('link', { name: /^Nightly export/ });
  await stopped.getByText(/^the last turn failed/).waitFor();
  await page.keyboard.press('j');
  const article = page.getByRole('article', { name: 'Nightly export' });
  await article.getByText('Last turn failed').waitFor();
  await report.getByText('Search index: allowed').waitFor({ state: 'hidden' });
  const goOn = article.getByRole('button', { name: 'Continue' });
  await expect.poll(() => goOn.getAttribute('aria-keyshortcuts')).toBe('a');
  await page.keyboard.press('a');
  await stopped.waitFor({ state: 'hidden' });

  await page.getByRole('form', wants('Header')).waitFor();
  await page.keyboard.press('Enter');
  await page.waitForURL(`${origin}/stages/${ids[3]}`);
  expect(errors).toEqual([]);
});
