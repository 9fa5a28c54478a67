import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { itAll } from '../../test-support/it-all.ts';
import { bash, done, exact, openRequestBoard, wants } from '../support/request-board.ts';

itAll('allows a rule permanently, passes it to the next start, and removes it', async () => {
  const { page, errors, begin, origin } = await openRequestBoard();
  await begin('Login form', [bash('npm pkg get name'), done]);
  const dialog = page.getByRole('dialog', wants('Login form'));
  await dialog.getByRole('button', { name: 'Always allow …' }).click();
  await dialog.getByText('Bash(npm pkg *)').waitFor();
  await dialog.getByText(/not in your repository/).waitFor();
  await dialog.getByRole('combobox', { name: 'For' }).selectOption('the project');
  await dialog.getByRole('button', exact('Always allow')).click();
  await page.getByRole('region', { name: 'Review' }).getByText('Login form').waitFor();

  // Another stage of the project needs no request.
  await begin('Search index', [bash('npm pkg get version'), done]);
  await page.getByRole('region', { name: 'Review' }).getByText('Search index').waitFor();

  await page.goto(`${origin}/inbox`);
  await page.getByRole('link', exact('Rules')).click();
  const rules = page.getByRole('region', exact('Always allowed'));
  await rules.getByText('Bash(npm pkg *)').waitFor();
  await rules.getByText(/all stages of the project/).waitFor();
  await rules.getByText(/^Used 1 time/).click();
  await rules.getByRole('list', exact('Last uses')).getByRole('link', exact('Search index')).waitFor();
  await rules.getByRole('button', { name: /^Remove Bash\(npm pkg \*\)/ }).click();
  await rules.getByText(/^No rules yet/).waitFor();
  await page.goto(`${origin}/inbox`);

  await begin('Footer', [bash('npm pkg get license'), done]);
  await page.getByRole('form', wants('Footer')).waitFor();
  expect(errors).toEqual([]);
});

itAll('runs a command as edited, and shows errors at the field', async () => {
  const { page, errors, begin, dataDir } = await openRequestBoard();
  const write = { name: 'Write', input: { file_path: 'b.txt', content: 'one\n' } };
  const read = { name: 'Read', input: { file_path: join(dataDir, 'elsewhere.txt') } };
  const id = await begin('Login form', [bash('echo one >> a.txt'), { tools: [write] }, { tools: [read] }, done]);
  const dialog = page.getByRole('dialog', { name: /^Login form: (Run|Write|Read|Edit)/ });
  await dialog.getByRole('button', { name: 'Edit before allowing' }).click();
  const command = dialog.getByRole('textbox', { name: 'Command' });
  await expect.poll(() => command.inputValue()).toBe('echo one >> a.txt');
  await command.fill('');
  await expect.poll(() => dialog.getByRole('button', exact('Allow')).isDisabled()).toBe(true);
  await command.fill('echo two >> a.txt');
  await dialog.getByRole('button', exact('Allow')).click();

  // A file is edited as text.
  await page.getByRole('dialog', { name: /Login form.*b\.txt/ }).waitFor();
  await dialog.getByRole('button', { name: 'Edit before allowing' }).click();
  await dialog.getByRole('textbox', { name: 'Content of the file' }).fill('three "quoted"\n');
  await dialog.getByRole('button', exact('Allow')).click();

  // Any other input is edited as JSON.
  await page.getByRole('dialog', { name: /Login form.*elsewhere\.txt/ }).waitFor();
  await dialog.getByRole('button', { name: 'Edit before allowing' }).click();
  const input = dialog.getByRole('textbox', { name: 'Input as JSON' });
  await input.fill('{\n  "file_path": oops\n}');
  await dialog.getByText(/^Line 2: this is not readable: oops/).waitFor();
  await expect.poll(() => dialog.getByRole('button', exact('Allow')).isDisabled()).toBe(true);
  await input.fill('{ "file_path": 7 }');
  await dialog.getByRole('button', exact('Allow')).click();
  await expect.poll(() => input.getAttribute('aria-invalid')).toBe('true');
  const path = join(dataDir, 'worktrees', 'shop', id, 'b.txt');
  await input.fill(JSON.stringify({ file_path: path }));
  await dialog.getByRole('button', exact('Allow')).click();
  await page.getByRole('region', { name: 'Review' }).getByText('Login form').waitFor();
  expect(await readFile(join(dataDir, 'worktrees', 'shop', id, 'a.txt'), 'utf8')).toBe('two\n');
  expect(await readFile(path, 'utf8')).toBe('three "quoted"\n');

  // The transcript says what ran, not only what Claude asked for.
  await page.getByRole('region', { name: 'Review' }).getByText('Login form').click();
  const transcript = page.getByRole('region', { name: 'Transcript' });
  await expect.poll(() => transcript.getByText(/^Allowed with changes by/).count()).toBe(3);
  await transcript.getByText('echo two >> a.txt').waitFor();
  expect(errors.filter((error) => !error.includes('400'))).toEqual([]);
});

itAll('returns a plan with comments, and accepts the next one with a mode', async () => {
  const { page, errors, begin, model, send } = await openRequestBoard();
  const plan = '# Login\n\nFirst the **route**, then the form.\n\n- one step\n- another step\n';
  const write = { name: 'Write', input: { file_path: '{{planFile}}', content: plan } };
  const exit = { name: 'ExitPlanMode', input: {} };
  const id = await begin(
    'Login form',
    [{ tools: [write] }, { tools: [exit] }, { text: 'Once more.', tools: [exit] }, done],
    { permissionMode: 'plan' },
  );
  const dialog = page.getByRole('dialog', exact('Login form: Review the plan'));
  await dialog.getByRole('heading', { name: 'Login', exact: true }).waitFor();
  await dialog.getByText('First the route, then the form.').hover();
  await dialog.getByRole('button', { name: 'Comment on: First the route, then the form.' }).click();
  await dialog.getByRole('textbox', { name: 'Comment' }).fill('The form first');
  await dialog.getByRole('button', { name: 'Add comment' }).click();
  await dialog.getByRole('list', { name: 'Comments' }).getByText('The form first').waitFor();
  // Selected words can be commented on as well.
  await dialog.getByText('another step').selectText();
  await dialog.getByRole('button', { name: 'Comment on the selection' }).click();
  // A comment that was not added survives a reload and an acceptance, and is sent along with the others.
  await dialog.getByRole('textbox', { name: 'Comment' }).fill('Which one?');
  await expect
    .poll(async () => JSON.stringify(await send('GET', `/api/sessions/${id}/drafts`)))
    .toContain('Which one?');
  await page.reload();
  await dialog.getByText('2 comments to send back').waitFor();
  await expect.poll(() => dialog.getByRole('textbox', { name: 'Comment' }).inputValue()).toBe('Which one?');
  await dialog.getByRole('textbox', { name: 'Reason' }).fill('Smaller, please');
  await dialog.getByRole('button', exact('Accept plan')).click();
  await dialog.getByText(/^“Accept plan” leaves out what you wrote \(2 comments and the reason\)/).waitFor();
  await dialog.getByRole('button', exact('Send back')).click();

  const reported = () => JSON.stringify(model.requests.at(-1)?.messages);
  await expect.poll(() => reported().includes('> First the route, then the form.\\nThe form first')).toBe(true);
  await expect.poll(() => dialog.getByText('2 comments to send back').count()).toBe(0);
  expect(reported().includes('> another step\\nWhich one?')).toBe(true);
  expect(reported().includes('Smaller, please')).toBe(true);
  await dialog.getByRole('combobox', { name: 'Once accepted' }).selectOption('Then edit freely');
  await dialog.getByRole('button', exact('Accept plan')).click();
  await page.getByRole('region', { name: 'Review' }).getByText('Login form').waitFor();
  expect(await send('GET', `/api/sessions/${id}`)).toMatchObject({ session: { mode: 'acceptEdits' } });
  expect(errors).toEqual([]);
});

it('keeps unsent answers over a reload and in another tab until they are sent', async () => {
  const { page, errors, begin, send, origin, model, context } = await openRequestBoard();
  const options = ['SQLite', 'PostgreSQL'].map((label) => ({ label, description: label }));
  const questions = [
    { question: 'Which database?', header: 'Database', multiSelect: false, options },
    { question: 'Which name?', header: 'Name', multiSelect: false, options },
  ];
  const id = await begin('Login form', [{ tools: [{ name: 'AskUserQuestion', input: { questions } }] }, done]);
  const dialog = page.getByRole('dialog', { name: 'Login form: 2 questions' });
  const first = dialog.getByRole('group', { name: 'Which database?' });
  const other = dialog.getByRole('group', { name: 'Which name?' }).getByRole('textbox', { name: 'Other' });
  await first.getByRole('radio', { name: 'PostgreSQL' }).check();
  await other.fill('Ledger');
  await page.reload();
  await expect.poll(() => other.inputValue()).toBe('Ledger');
  await expect.poll(() => first.getByRole('radio', { name: 'PostgreSQL' }).isChecked()).toBe(true);

  const elsewhere = await context.newPage();
  await elsewhere.goto(`${origin}/inbox`);
  const form = elsewhere.getByRole('form', { name: 'Login form: 2 questions' });
  const otherName = form.getByRole('group', { name: 'Which name?' }).getByRole('textbox', { name: 'Other' });
  await expect.poll(() => otherName.inputValue()).toBe('Ledger');
  await otherName.fill('Journal');
  await expect.poll(() => other.inputValue()).toBe('Journal');
  await dialog.getByRole('button', { name: 'Submit' }).click();
  await page.getByRole('region', { name: 'Review' }).getByText('Login form').waitFor();
  expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain('Journal');
  await elsewhere.getByText(/^Answered elsewhere by /).waitFor();
  await expect.poll(async () => (await send('GET', `/api/sessions/${id}/drafts`)).drafts).toEqual([]);
  expect(errors).toEqual([]);
});
