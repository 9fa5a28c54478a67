import { AttachedFile, MessageId, QueuedMessage } from '@callboard/contract';
import { act, screen, within } from '@testing-library/react';
import type { UserEvent } from '@testing-library/user-event';
import { expect, it } from 'vitest';
import { openPage } from '../../test/open-page.tsx';
import { problem } from '../../test/page-server.ts';
import { at, board, session, stage } from '../../test/samples.ts';

let opened = 0;
const IDLE = { state: 'idle', sessionId: 'one', lastTurn: { outcome: 'succeeded', at: at(1), message: null } };
const FILE_ID = '0198f3a2-7c1b-7d1e-9a53-5b8f0c2d4e61';
const OTHER_ID = '0198f3a2-7c1b-7d1e-9a53-5b8f0c2d4e62';
const FILES = ['src/login.ts', 'src/pages/login-form.tsx', 'a note.txt'];
const COMMANDS = [
  { name: 'greet', description: 'Greets someone', argumentHint: '<name>', aliases: [], isBuiltIn: false },
  { name: 'context', description: 'Shows the context', argumentHint: '', aliases: [], isBuiltIn: true },
];
const MODELS = [
  { value: 'default', resolved: 'claude-fable', label: 'Default', description: '', efforts: ['low', 'high'] },
  { value: 'haiku', resolved: 'claude-haiku', label: 'Haiku', description: '', efforts: ['low', 'high'] },
];

const queued = (messageId: string, text: string, change: Record<string, unknown> = {}): QueuedMessage =>
  QueuedMessage.parse({
    stageId: `STAGE-${opened + 1}`,
    messageId,
    text,
    by: null,
    createdAt: at(2),
    position: 1,
    attachments: [],
    ...change,
  });

/** Opens the page of a stage of its own, on a server that keeps its drafts and its queue: a tab remembers what was typed for a stage. */
function open(fields: object = IDLE, first: { queue?: QueuedMessage[]; drafts?: object; tab?: string } = {}) {
  const own = stage(`STAGE-${++opened}`, { title: 'Login form' });
  const running = session(own.id, { ...fields });
  const page = openPage(
    `/stages/${own.id}?tab=${first.tab ?? ''}`,
    board({ stages: [{ stage: own, session: running }] }),
  );
  const drafts = new Map<string, unknown>(Object.entries(first.drafts ?? {}));
  let queue = first.queue ?? [];
  const draft = (key: string, value: unknown) => ({ stageId: own.id, key, value, updatedAt: at(2), writer: null });
  page.server.answer({
    get_transcript: () => ({ entries: [], total: 0 }),
    get_drafts: () => ({ drafts: [...drafts].map(([key, value]) => draft(key, value)) }),
    put_draft({ stageId, key, value }) {
      if (stageId !== own.id) return { draft: draft(key, value) }; // of a page before, which is being left
      if (value === null) drafts.delete(key);
      else drafts.set(key, value);
      return { draft: draft(key, value) };
    },
    get_queue: () => ({ queue, held: false }),
    send_message({ messageId }) {
      drafts.delete(`replaced:${messageId}`);
      return { status: 'sent', messageId: MessageId.parse(messageId) };
    },
    suggest_files: ({ query = '' }) => ({ files: FILES.filter((path) => path.includes(query)) }),
    get_capabilities: () => ({ capabilities: { commands: COMMANDS, models: MODELS }, from: 'stage' }),
  });
  const sent = (command: string) =>
    page.server.received.filter((one) => one.command === command).map(({ input }) => input);
  /** Another screen, or the server, changes the queue. */
  const setQueue = (next: QueuedMessage[]) => {
    queue = next;
    page.server.emit('queue-updated', { stageId: own.id, queue, held: false });
  };
  /** Another screen writes a draft. */
  const writeElsewhere = (key: string, value: unknown) => {
    drafts.set(key, value);
    page.server.emit('draft-updated', { ...draft(key, value), writer: 'elsewhere' });
  };
  return { ...page, sent, setQueue, writeElsewhere, running };
}

const messageBox = () => screen.findByRole<HTMLTextAreaElement>('textbox', { name: 'Message' });
const options = (list: string) =>
  within(screen.queryByRole('listbox', { name: list }) ?? document.createElement('p')).queryAllByRole('option');
const shown = (list: string) => options(list).map(({ textContent }) => textContent);

it('completes file paths after @, by keys and by a click, also in the middle of a text', async () => {
  const { user, sent } = open();
  const box = await messageBox();
  await user.type(box, 'Compare @logi');
  await expect.poll(() => shown('Files')).toEqual(['login.tssrc', 'login-form.tsxsrc/pages']);
  expect(box.getAttribute('aria-activedescendant')).toBe(options('Files')[0]?.id);
  await user.keyboard('{ArrowDown}');
  expect(options('Files')[1]?.getAttribute('aria-selected')).toBe('true');
  await user.keyboard('{Tab}');
  await expect.poll(() => box.value).toBe('Compare @src/pages/login-form.tsx ');
  await user.paste('with @');
  await user.keyboard('note');
  await user.click(await screen.findByRole('option', { name: /a note\.txt/ }));
  await expect.poll(() => box.value).toBe('Compare @src/pages/login-form.tsx with @"a note.txt" ');

  // Closed by Escape, which does not affect the text or the turn.
  await user.type(box, '@log', { initialSelectionStart: 0, initialSelectionEnd: 0 });
  await expect.poll(() => shown('Files')).toHaveLength(2);
  await user.keyboard('{Escape}');
  expect(options('Files')).toEqual([]);
  await user.keyboard('{Backspace>3/}zzz');
  await screen.findByText('No matching files');
  await user.keyboard('{Backspace>4/}{Enter}');
  const message = expect.stringContaining('Compare @src/pages/login-form.tsx with @"a note.txt"');
  await expect.poll(() => sent('send_message')).toMatchObject([{ message }]);
  expect(sent('interrupt')).toEqual([]);
});

it('completes the commands that Claude Code has, and runs one only on request', async () => {
  const { user, sent } = open();
  const box = await messageBox();
  await user.type(box, '/gre');
  await expect.poll(() => shown('Commands')[0]).toBe('/greet <name>Greets someone');
  await user.keyboard('{Enter}');
  await expect.poll(() => box.value).toBe('/greet ');
  const isCommand = () => screen.getByRole<HTMLInputElement>('checkbox', { name: 'Run as a command' }).checked;
  expect(isCommand()).toBe(true);
  await user.type(box, 'Ada{Enter}');
  await expect.poll(() => sent('send_message')).toMatchObject([{ message: '/greet Ada', isCommand: true }]);

  // A slash alone makes no command.
  await expect.poll(() => box.value).toBe('');
  await user.click(box);
  await user.paste('/etc/hosts is a file');
  expect(isCommand()).toBe(false);
  await user.keyboard('{Enter}');
  await expect.poll(() => sent('send_message')).toHaveLength(2);
  expect(sent('send_message')[1]).toMatchObject({ message: '/etc/hosts is a file', isCommand: false });
});

it('changes mode, model and effort of an ended session for its next start, by Claude Code’s names for them', async () => {
  const { user, server, sent, running } = open({ ...IDLE, state: 'ended' }, { tab: 'details' });
  let now = running;
  const change = (fields: object) => {
    now = { ...now, ...fields };
    server.emit('session-updated', now);
    return { session: { ...now, queue: [], pending: [] } };
  };
  server.answer({
    set_mode: ({ mode }) => change({ mode }),
    set_model: ({ model, effort }) =>
      change({ ...(model !== undefined && { model }), ...(effort !== undefined && { effort }) }),
  });
  await screen.findByText('Applies when the session restarts');
  const choose = async (name: string, value: string) => {
    const choice = () => screen.getByRole<HTMLSelectElement>('combobox', { name });
    await expect.poll(() => choice().disabled).toBe(false);
    await user.selectOptions(choice(), value);
    await expect.poll(() => [choice().value, choice().disabled]).toEqual([value, false]);
  };
  await choose('Permission mode', 'acceptEdits');
  await expect.poll(() => screen.getByRole('combobox', { name: 'Model' }).textContent).toContain('Haiku');
  await choose('Model', 'haiku');
  await choose('Effort', 'high');
  expect(sent('set_mode')).toMatchObject([{ mode: 'acceptEdits' }]);
  expect(sent('set_model')).toMatchObject([{ model: 'haiku' }, { effort: 'high' }]);
});

it('steers the running turn with Control+Enter, and replaces all that waits with one message', async () => {
  const { user, sent } = open({ state: 'busy' }, { queue: [queued('m1', 'one'), queued('m2', 'two')] });
  const box = await messageBox();
  await screen.findByText('2 messages queued: the next one is sent when this turn ends');
  await user.click(box);
  await user.paste('Use b.txt instead');
  await user.keyboard('{Control>}{Enter}{/Control}');
  await expect.poll(() => sent('send_message')).toMatchObject([{ message: 'Use b.txt instead', mode: 'steer' }]);
  await expect.poll(() => box.value).toBe('');
  await user.type(box, 'three');
  await user.click(screen.getByRole('button', { name: 'Other ways to send' }));
  await user.click(await screen.findByRole('menuitem', { name: /Replace all queued/, hidden: true }));
  await expect.poll(() => sent('send_message')[1]).toMatchObject({ message: 'three', mode: 'replace' });
});

it('shows the text and the files of another screen, refuses what cannot be sent, and says what goes along', async () => {
  const saved = AttachedFile.parse({ fileId: FILE_ID, name: 'pasted.png', mediaType: 'image/png', size: 70 });
  const { user, server, sent, writeElsewhere } = open(IDLE, { drafts: { message: 'half a thought', files: [saved] } });
  const box = await messageBox();
  await expect.poll(() => box.value).toBe('half a thought');
  const attached = () =>
    within(screen.queryByRole('list', { name: 'Attached files' }) ?? document.createElement('p'))
      .queryAllByRole('listitem')
      .map(({ textContent }) => textContent);
  expect(attached()).toEqual([expect.stringContaining('pasted.png')]);
  act(() => writeElsewhere('message', 'a whole thought'));
  await expect.poll(() => box.value).toBe('a whole thought');
  act(() => writeElsewhere('files', null));
  await expect.poll(attached).toEqual([]);

  server.answer({ add_draft_file: () => problem('bad_request', 'It is no text.') });
  const zip = new File([Uint8Array.of(0, 1, 2)], 'nothing.zip', { type: 'application/zip' });
  await user.upload(screen.getByLabelText('Attach files'), zip);
  await screen.findByText(/nothing\.zip cannot be sent/);
  expect(sent('add_draft_file')).toEqual([]);
});

const replaced = (text: string, position: number, files: object[] = []) => ({
  text,
  position,
  isCommand: false,
  files,
});

it('keeps the replaced messages with their files, until each is queued after all or discarded', async () => {
  const file = AttachedFile.parse({ fileId: FILE_ID, name: 'the page.png', mediaType: 'image/png', size: 70 });
  const drafts = {
    [`replaced:${FILE_ID}`]: replaced('Make it look like this', 1, [file]),
    [`replaced:${OTHER_ID}`]: replaced('And add tests', 2),
  };
  const { user, sent } = open({ state: 'busy' }, { drafts });
  const region = within(await screen.findByRole('region', { name: 'Replaced messages' }));
  const rows = () => region.queryAllByRole('listitem').map(({ textContent }) => textContent);
  expect(rows()).toEqual([
    expect.stringContaining('with 1 file: the page.png'),
    expect.stringContaining('And add tests'),
  ]);
  await user.click(region.getAllByRole('button', { name: 'Discard' })[1] ?? document.body);
  await expect.poll(rows).toHaveLength(1);
  await user.click(region.getByRole('button', { name: 'Queue it after all' }));
  await expect.poll(() => screen.queryByRole('region', { name: 'Replaced messages' })).toBeNull();
  expect(sent('send_message')).toMatchObject([{ message: 'Make it look like this', files: [FILE_ID] }]);
});

/** Chooses from the menu of a queued message, which has its actions where there is little room. */
async function choose(user: UserEvent, text: string, action: RegExp): Promise<void> {
  const queue = within(await screen.findByRole('region', { name: 'Queued messages' }));
  const row = (await queue.findByText(text)).closest('li') ?? document.body;
  await expect.poll(() => row.getAttribute('aria-busy')).toBe('false');
  await expect.poll(() => document.querySelector('[role="menu"]')).toBeNull(); // the one before fades
  await user.click(within(row).getByRole('button', { name: 'What to do with it' }));
  await user.click(await screen.findByRole('menuitem', { name: action, hidden: true }));
}

it('edits, moves, removes and sends queued messages', async () => {
  const [one, two, three] = ['one', 'two', 'three'].map((text, nth) =>
    queued(`id-${text}`, text, { position: nth }),
  ) as [QueuedMessage, QueuedMessage, QueuedMessage];
  const { user, server, sent, setQueue } = open({ state: 'busy' }, { queue: [one, two, three] });
  server.answer({
    edit_queued: () => ({ message: two }),
    remove_queued: () => ({ message: one }),
    send_queued: ({ messageId }) => ({ status: 'sent', messageId }),
  });
  await choose(user, 'two', /^Edit/);
  const box = await screen.findByRole('textbox', { name: 'Queued message' });
  await user.clear(box);
  await user.paste('two and a half');
  await user.click(screen.getByRole('button', { name: 'Save' }));
  await expect
    .poll(() => sent('edit_queued'))
    .toMatchObject([{ messageId: 'id-two', patch: { message: 'two and a half' } }]);
  await choose(user, 'three', /^Move up/);
  await expect.poll(() => sent('edit_queued')[1]).toMatchObject({ messageId: 'id-three', patch: { place: 1 } });
  await choose(user, 'one', /^Remove/);
  await expect.poll(() => sent('remove_queued')).toMatchObject([{ messageId: 'id-one' }]);
  await choose(user, 'three', /^Send now, interrupting Claude/);
  await expect.poll(() => sent('send_queued')).toMatchObject([{ messageId: 'id-three', mode: 'now' }]);
  act(() => setQueue([]));
  await expect.poll(() => screen.queryByRole('region', { name: 'Queued messages' })).toBeNull();
});

it('interrupts on a second Escape soon after the first, and not on one that closes something', async () => {
  const { user, server, sent, running } = open({ state: 'busy' });
  server.answer({ interrupt: () => ({ session: { ...running, queue: [], pending: [] } }) });
  await screen.findByRole('button', { name: 'Interrupt' });
  const again = () => screen.queryByRole('button', { name: 'Esc again to interrupt' });
  await user.keyboard('{Control>}k{/Control}');
  await screen.findByRole('combobox', { name: 'Search or command' });
  await user.keyboard('{Escape}');
  await expect.poll(() => screen.queryByRole('combobox', { name: 'Search or command' })).toBeNull();
  expect(again()).toBeNull();
  // For a moment after that no Escape counts.
  await expect
    .poll(
      async () => {
        await user.keyboard('{Escape}');
        return again() !== null;
      },
      { interval: 1_500 },
    )
    .toBe(true);
  await expect.poll(again).toBeNull(); // a single Escape is forgotten
  await user.keyboard('{Escape}{Escape}');
  await expect.poll(() => sent('interrupt')).toHaveLength(1);
});
