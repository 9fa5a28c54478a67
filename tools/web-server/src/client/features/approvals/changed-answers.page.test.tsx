import type { PendingRequest } from '@callboard/contract';
import { screen, within } from '@testing-library/react';
import type { UserEvent } from '@testing-library/user-event';
import { expect, it } from 'vitest';
import { openPage } from '../../test/open-page.tsx';
import { problem } from '../../test/page-server.ts';
import { board, decision, entry, request, session, stage } from '../../test/samples.ts';

const TITLE = 'Login form';
const exact = (name: string) => ({ name, exact: true });

/** Opens a page under this request; on the path of a stage's page, after it was answered. */
function open(asked: PendingRequest, path = '/') {
  const asking = { stage: stage('STAGE-1', { title: TITLE }), session: session('STAGE-1', { state: 'waiting' }) };
  const page = openPage(path, board({ stages: [asking], pending: path.startsWith('/stages') ? [] : [asked] }));
  page.server.answer({
    get_drafts: () => ({ drafts: [] }),
    put_draft: ({ stageId, key, value }) => ({
      draft: { stageId, key, value, updatedAt: asked.createdAt, writer: null },
    }),
    get_rule_offer: () => ({ offer: null }),
    approve_tool: () => ({ decision: decision(asked) }),
  });
  const sent = () => page.server.received.flatMap(({ command, input }) => (command === 'approve_tool' ? [input] : []));
  return { ...page, sent };
}

const dialog = async () => within(await screen.findByRole('dialog', { name: new RegExp(`^${TITLE}`) }));
const isOff = (button: HTMLElement) =>
  button.hasAttribute('disabled') || button.getAttribute('aria-disabled') === 'true';

/** Presses a button, which works half a second after it was drawn. */
async function press(user: UserEvent, button: HTMLElement): Promise<void> {
  await expect.poll(() => isOff(button)).toBe(false);
  await user.click(button);
}

async function write(user: UserEvent, box: HTMLElement, text: string): Promise<void> {
  await user.clear(box);
  if (text === '') return;
  await user.click(box);
  await user.paste(text);
}

it('runs a command as edited, and none that is empty', async () => {
  const { user, sent } = open(request('STAGE-1', 'edited-1', { input: { command: 'echo one >> a.txt' } }));
  const form = await dialog();
  await user.click(form.getByRole('button', { name: 'Edit before allowing' }));
  const command = await form.findByRole<HTMLTextAreaElement>('textbox', { name: 'Command' });
  expect(command.value).toBe('echo one >> a.txt');
  const allow = form.getByRole('button', exact('Allow'));
  await expect.poll(() => isOff(allow)).toBe(false);
  await write(user, command, '');
  await expect.poll(() => isOff(allow)).toBe(true);
  await write(user, command, 'echo two >> a.txt');
  await press(user, allow);
  await expect.poll(sent).toHaveLength(1);
  expect(sent()[0]).toMatchObject({ decision: 'allow', updatedInput: { command: 'echo two >> a.txt' } });
});

it('leaves the editor with the first Escape and closes the request with the second; the text stays', async () => {
  const { user } = open(request('STAGE-1', 'edited-4', { input: { command: 'make check' } }));
  const form = await dialog();
  await user.click(form.getByRole('button', { name: 'Edit before allowing' }));
  const command = await form.findByRole<HTMLTextAreaElement>('textbox', { name: 'Command' });
  await expect.poll(() => document.activeElement).toBe(command);
  await user.keyboard(' -j2');
  expect(command.value).toBe('make check -j2');
  await user.keyboard('{Escape}');
  expect(document.activeElement).not.toBe(command);
  expect(form.getByRole<HTMLTextAreaElement>('textbox', { name: 'Command' }).value).toBe('make check -j2');
  await user.keyboard('{Escape}');
  await expect.poll(() => screen.queryByRole('dialog')).toBeNull();
});

it('edits a file as text', async () => {
  const input = { file_path: '/w/b.txt', content: 'one\n' };
  const { user, sent } = open(request('STAGE-1', 'edited-2', { toolName: 'Write', displayName: 'Write', input }));
  const form = await dialog();
  await user.click(form.getByRole('button', { name: 'Edit before allowing' }));
  await write(user, await form.findByRole('textbox', { name: 'Content of the file' }), 'three "quoted"\n');
  await press(user, form.getByRole('button', exact('Allow')));
  await expect.poll(sent).toHaveLength(1);
  expect(sent()[0]).toMatchObject({ updatedInput: { ...input, content: 'three "quoted"\n' } });
});

it('edits any other input as JSON, and shows at the field what cannot be read and what the server refuses', async () => {
  const asked = request('STAGE-1', 'edited-3', {
    toolName: 'Read',
    displayName: 'Read',
    input: { file_path: '/elsewhere.txt' },
  });
  const { user, server, sent } = open(asked);
  server.answer({ approve_tool: () => problem('bad_request', 'file_path must be a text.') });
  const form = await dialog();
  await user.click(form.getByRole('button', { name: 'Edit before allowing' }));
  const box = await form.findByRole('textbox', { name: 'Input as JSON' });
  await write(user, box, '{\n  "file_path": oops\n}');
  await form.findByText(/^Line 2: this is not readable: oops/);
  expect(isOff(form.getByRole('button', exact('Allow')))).toBe(true);
  await write(user, box, '{ "file_path": 7 }');
  await press(user, form.getByRole('button', exact('Allow')));
  await form.findByText('file_path must be a text.');
  expect(box.getAttribute('aria-invalid')).toBe('true');
  server.answer({ approve_tool: () => ({ decision: decision(asked) }) });
  await write(user, box, JSON.stringify({ file_path: '/w/b.txt' }));
  await press(user, form.getByRole('button', exact('Allow')));
  await expect.poll(sent).toHaveLength(2);
  expect(sent()[1]).toMatchObject({ updatedInput: { file_path: '/w/b.txt' } });
});

it('says in the transcript what ran, not only what Claude asked for', async () => {
  const asked = request('STAGE-1', 'edited-4', { toolUseId: 't1', input: { command: 'echo one >> a.txt' } });
  const { server } = open(asked, '/stages/STAGE-1');
  const changed = decision(asked, { updatedInput: { command: 'echo two >> a.txt' } });
  const entries = [
    entry(1, 'tool-use', { toolUseId: 't1', toolName: 'Bash', input: asked.input }),
    entry(2, 'decision', { decision: changed }),
  ];
  server.answer({ get_transcript: () => ({ entries, total: entries.length }) });
  const transcript = within(await screen.findByRole('region', { name: 'Transcript' }));
  await transcript.findByText(/^Allowed with changes by Ada/);
  transcript.getByText('echo two >> a.txt');
});

it('allows the edits of a stage where Claude Code suggests it, and says what still asks', async () => {
  const suggestion = { type: 'setMode', mode: 'acceptEdits', destination: 'session' };
  const { user, sent } = open(
    request('STAGE-1', 'edits-1', {
      toolName: 'Write',
      displayName: 'Write',
      input: { file_path: '/w/a.txt', content: 'one\n' },
      suggestions: [suggestion],
      fileExists: false,
    }),
  );
  const form = await dialog();
  form.getByText('New file, 1 line');
  expect(form.queryByRole('list', { name: 'At stake' })).toBeNull();
  await user.click(form.getByRole('button', { name: 'Allow edits …' }));
  form.getByText(/Other commands still ask\./);
  await press(user, form.getByRole('button', exact('Allow edits in this stage')));
  await expect.poll(sent).toMatchObject([{ decision: 'allow', updatedPermissions: [suggestion] }]);
});

it('says what is at risk in a script, and shows the part that matters on its row in the inbox', async () => {
  const command = '# Look around\nls\necho "* * * * * x" | crontab -\nrm -rf dist';
  const stakes = [
    { code: 'schedules', text: 'Changes scheduled jobs (crontab).', command: 'echo "* * * * * x" | crontab -' },
    { code: 'deletes', text: 'Deletes with all contents: dist.', command: 'rm -rf dist' },
  ];
  open(request('STAGE-1', 'stakes-1', { input: { command }, stakes }), '/inbox');
  const list = within(await screen.findByRole('list', { name: 'At stake' }));
  list.getByText('Changes scheduled jobs (crontab).');
  list.getByText('Deletes with all contents: dist.');
  screen.getByText('… echo "* * * * * x" | crontab - …');
});

it('shows that a hook changed the call, and what Claude wrote', async () => {
  const inputChange = { hook: null, from: { command: 'echo original' } };
  open(request('STAGE-1', 'hooked-1', { input: { command: 'echo rewritten' }, inputChange }));
  const form = await dialog();
  const note = form.getByRole('note', { name: 'Changed by a hook' });
  expect(note.textContent).toContain('echo original');
  expect(screen.getByRole('dialog').textContent).toContain('echo rewritten');
});
