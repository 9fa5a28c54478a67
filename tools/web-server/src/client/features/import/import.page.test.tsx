import type { TranscriptEntry } from '@callboard/contract';
import { sampleProject } from '@callboard/contract/samples';
import { act, screen, within } from '@testing-library/react';
import { expect, it } from 'vitest';
import { useBoardUi } from '../../data/board-ui.ts';
import { openPage } from '../../test/open-page.tsx';
import { problem } from '../../test/page-server.ts';
import { board, session, stage } from '../../test/samples.ts';

const ID = '24796da1-60bd-44a0-8d5b-5f9cc495f972';
const at = '2026-01-02T03:04:05.000Z';
const conversation = (fields: object = {}) => ({
  conversationId: ID,
  name: null,
  firstWords: 'Mend the login\nand the logout',
  folder: '/code/shop/api',
  branch: 'main',
  startedAt: at,
  updatedAt: at,
  messages: 4,
  bytes: 165_483,
  isOpen: false,
  ...fields,
});
const list = (conversations: object[], fields: object = {}) =>
  ({ conversations, older: 0, folders: [], source: '/home/ada/.claude/projects', ...fields }) as never; // valid by the samples above
const adopted = { conversationId: ID, folder: '/code/shop', branch: 'main', at, lastEntry: 2 };
const own = stage('STAGE-1', { title: 'Mend the login', adopted });
const view = () => ({
  ...board({ stages: [{ stage: own, session: session('STAGE-1', { state: 'ended', lastTurn: null }) }] }),
  projects: [sampleProject({ id: own.projectId, name: 'shop' })],
});

async function openList() {
  const page = openPage('/', view());
  await screen.findByRole('heading', { name: 'Board' });
  await page.user.keyboard('{Control>}k{/Control}');
  await page.user.type(await screen.findByRole('combobox'), 'continue a conv');
  await page.user.keyboard('{Enter}');
  return { ...page, dialog: within(await screen.findByRole('dialog', { name: 'Continue a conversation' })) };
}

it('finds a conversation by its words, and continues it with or without the changes of its folder', async () => {
  const folders = [{ folder: '/code/shop', branch: 'main', uncommitted: 2 }];
  const other = conversation({
    conversationId: ID.replace('2', '3'),
    firstWords: 'Other work',
    name: 'Other',
    isOpen: true,
    messages: null,
  });
  const { user, server, dialog } = await openList();
  server.answer({
    get_conversations: () => list([conversation(), other], { folders, older: 3 }),
    adopt_conversation: () => ({ stage: view().stages[0] }) as never, // there is one
  });
  await user.click(await dialog.findByRole('button', { name: 'Try again' }));
  await dialog.findByText('Open in a terminal');
  await dialog.findByText('3 older ones are not listed.');
  await user.type(dialog.getByRole('textbox', { name: 'Search' }), 'login main');
  expect(dialog.queryByText('Other')).toBeNull();
  await user.click(dialog.getByRole('button', { name: /Mend the login/ }));
  dialog.getByText('The worktree of the stage begins at the newest commit of main, the branch that /code/shop is on.');
  await user.click(dialog.getByRole('checkbox', { name: 'Take 2 uncommitted files along' }));
  await user.click(dialog.getByRole('button', { name: 'Continue as a stage' }));
  await expect.poll(() => location.pathname).toBe('/stages/STAGE-1');
  expect(server.received.find(({ command }) => command === 'adopt_conversation')?.input).toMatchObject({
    conversationId: ID,
    title: 'Mend the login',
    uncommitted: false,
  });
});

it('says where it looks if there are none, and what went wrong', async () => {
  const { user, server, dialog } = await openList();
  await dialog.findByText(/The conversations could not be read/);
  server.answer({ get_conversations: () => list([]) });
  await user.click(dialog.getByRole('button', { name: 'Try again' }));
  await dialog.findByText('/home/ada/.claude/projects');
});

const entry = (index: number, fields: object) => ({ stageId: 'STAGE-1', index, at, parentToolUseId: null, ...fields });
const entries = [
  entry(1, { kind: 'user', text: 'Mend the login', messageId: null, by: 'Terminal', attachments: [] }),
  entry(2, { kind: 'text', text: 'I mended it.', blockId: 'b:1' }),
  entry(3, {
    kind: 'notice',
    level: 'info',
    code: 'adopted',
    text: 'Continues a conversation from /code/shop on main.',
  }),
] as TranscriptEntry[]; // valid

it('folds what was said before, until somebody opens it', async () => {
  const { user, server } = openPage('/stages/STAGE-1', view());
  server.answer({ get_transcript: () => ({ entries, total: 3 }) });
  const fold = await screen.findByRole('button', { name: /Before Callboard/ });
  expect(fold.getAttribute('aria-expanded')).toBe('false');
  expect(fold.textContent).toContain('2 entries from /code/shop');
  await user.click(fold);
  expect(fold.getAttribute('aria-expanded')).toBe('true');
});

const issue = (number: number, fields: object = {}) => ({
  number,
  title: `Issue ${number}`,
  url: `https://github.com/acme/shop/issues/${number}`,
  labels: ['bug'],
  author: 'grace',
  updatedAt: at,
  stageId: null,
  ...fields,
});
const REPOSITORY = { repository: 'github.com/acme/shop', host: 'github' as const };

async function openIssues() {
  const page = openPage('/', view());
  await screen.findByRole('heading', { name: 'Board' });
  act(() => useBoardUi.getState().open({ kind: 'issues', projectId: own.projectId }));
  return { ...page, dialog: within(await screen.findByRole('dialog', { name: 'Import issues' })) };
}

it('imports the chosen issues, and says which stages stay as they are', async () => {
  const { user, server, dialog } = await openIssues();
  await dialog.findByText(/The issues could not be read/);
  server.answer({
    get_issues: () => ({ ...REPOSITORY, issues: [issue(7), issue(9, { stageId: own.id })], problem: null }),
    import_issues: () => ({ stages: [], created: 1, updated: 0, kept: [own.id] }),
  });
  await user.click(dialog.getByRole('button', { name: 'Try again' }));
  await user.click(await dialog.findByRole('checkbox', { name: 'Issue 7 #7' }));
  await user.click(dialog.getByRole('checkbox', { name: 'Issue 9 #9' }));
  await user.click(dialog.getByRole('button', { name: 'Import 2 issues' }));
  expect((await dialog.findByRole('status')).textContent).toBe(
    '1 stage created, 0 updated. STAGE-1 stay as they are: they were started, or edited here.',
  );
  await user.type(dialog.getByRole('textbox', { name: 'Search' }), 'login');
  await user.type(dialog.getByRole('textbox', { name: 'Label' }), 'bug{Enter}');
  const asked = () => server.received.filter(({ command }) => command === 'get_issues').at(-1)?.input;
  await expect.poll(asked).toMatchObject({ q: 'login', label: 'bug' });
  const sent = server.received.find(({ command }) => command === 'import_issues');
  expect(sent?.input).toMatchObject({ numbers: [7, 9] });
});

it('says what to do where the host cannot be asked', async () => {
  const message = 'gh is not logged in to github.com. Log in in a terminal, then try again.';
  const problem = { code: 'code_host_login', message, command: 'gh auth login --hostname github.com', url: null };
  const { user, server, dialog } = await openIssues();
  server.answer({ get_issues: () => ({ ...REPOSITORY, issues: [], problem }) });
  await user.click(await dialog.findByRole('button', { name: 'Try again' }));
  await dialog.findByText(message);
  dialog.getByText('gh auth login --hostname github.com');
  server.answer({ get_issues: () => ({ ...REPOSITORY, issues: [], problem: null }) });
  await user.click(dialog.getByRole('button', { name: 'Check again' }));
  await dialog.findByText('No open issues in github.com/acme/shop.');
});

it('watches a folder from its import on, says what is wrong there, and writes stages out', async () => {
  const found = {
    path: 'docs/stages',
    at,
    problems: ['a.md: title is missing'],
    removed: ['/code/b.md'],
    kept: [own.id],
  };
  const settings = { stageFolders: ['docs/stages'] };
  const watching = sampleProject({ id: own.projectId, settings, stageFolders: [found] });
  const { user, server } = openPage('/', { ...view(), projects: [watching] });
  server.answer({
    get_trust: () => problem('internal', 'not asked here'),
    import_stages: () => ({ created: 1, updated: 0, stages: [], ignored: [] }),
    update_project: () => ({ project: watching }),
    export_stages: () => ({
      folder: '/code/out',
      written: ['/code/out/A.md'],
      unchanged: 2,
      kept: [{ file: '/code/out/B.md', reason: 'changed' }],
    }),
  });
  await screen.findByRole('heading', { name: 'Board' });
  screen.getByText(/1 problem in the watched folder docs\/stages/);
  await user.click(screen.getByRole('button', { name: /^Review the watched folder docs\/stages of/ }));
  const dialog = within(await screen.findByRole('dialog'));
  const folders = within(await dialog.findByRole('region', { name: 'Watched folders' }));
  folders.getByText('a.md: title is missing');
  folders.getByText('/code/b.md');
  folders.getByRole('link', { name: own.id });
  await user.type(dialog.getByRole('textbox', { name: /Folder or file/ }), 'more');
  await user.click(dialog.getByRole('checkbox', { name: 'Watch this folder' }));
  await user.click(dialog.getByRole('button', { name: 'Import' }));
  await dialog.findByText(/1 stage created/);
  await user.click(folders.getByRole('button', { name: 'Stop watching docs/stages' }));
  await user.type(dialog.getByRole('textbox', { name: /Export to a folder/ }), 'out{Enter}');
  await dialog.findByText(/was changed since, so it was left alone/);
  const sent = (command: string) => server.received.find((one) => one.command === command)?.input;
  expect(sent('export_stages')).toMatchObject({ path: 'out' });
  expect(sent('import_stages')).toMatchObject({ path: 'more', watch: true });
  await expect.poll(() => sent('update_project')).toMatchObject({ settings: { stageFolders: [] } });
  server.emit('project-updated', {
    projectId: own.projectId,
    project: { ...watching, stageFolders: [{ ...found, problems: [] }] },
  });
  await expect.poll(() => screen.queryByText(/in the watched folder/)).toBeNull();
});
