import { MergePlan, PullRequest, PullRequestPlan, SideRun, type StageView } from '@callboard/contract';
import { act, screen, within } from '@testing-library/react';
import { expect, it } from 'vitest';
import { openPage } from '../../test/open-page.tsx';
import { board, session, stage } from '../../test/samples.ts';

const [head, tree, at] = ['a'.repeat(40), 'b'.repeat(40), '2026-01-02T03:04:05.000Z'];
const worktree = { path: '/w/STAGE-1', branch: 'callboard/STAGE-1', base: 'f'.repeat(40) };
const open: PullRequest = PullRequest.parse({
  host: 'github',
  number: 12,
  url: 'https://github.com/acme/shop/pull/12',
  title: 'Login form',
  state: 'open',
  base: 'main',
  branch: worktree.branch,
  head,
  checks: 'failing',
  failing: ['test'],
  unresolved: 2,
  conflicts: false,
  mergeCommit: null,
  checkedAt: at,
  stale: null,
});
const plan = (fields: Partial<PullRequestPlan> = {}) =>
  PullRequestPlan.parse({
    branch: worktree.branch,
    head,
    tree,
    base: 'main',
    remote: 'origin',
    repository: 'github.com/acme/shop',
    host: 'github',
    commits: 2,
    unpushed: 2,
    files: 3,
    uncommitted: [],
    uncommittedCount: 0,
    title: 'Login form',
    body: 'Write the form.',
    problem: null,
    ...fields,
  });
const merge = MergePlan.parse({
  branch: worktree.branch,
  head,
  tree,
  into: 'main',
  commits: 2,
  files: 3,
  uncommitted: [],
  uncommittedCount: 0,
  conflicts: [],
  refusal: null,
});
const comments = [
  { id: 'T1', path: 'src/a.ts', line: 3, author: 'grace', text: 'Why?', url: null },
  { id: 'T2', path: null, line: null, author: 'grace', text: 'Nice.', url: null },
];

function show(path: string, wanted: PullRequestPlan, fields: Record<string, unknown> = {}) {
  const own = stage('STAGE-1', { title: 'Login form', worktree, ...fields });
  const ended = { state: 'idle', lastTurn: { outcome: 'succeeded', message: '', at: own.createdAt } };
  const view = board({ stages: [{ stage: own, session: session('STAGE-1', ended) }] });
  const seen: StageView | undefined = view.stages[0];
  if (seen === undefined) throw new Error('the board is empty');
  const page = openPage(path, view);
  page.server.answer({
    get_side_runs: () => ({ runs: [] }),
    get_completion: () => ({ completion: { plan: merge, undo: null } }),
    get_pull_request: () => ({ plan: wanted }),
    open_pull_request: () => ({ stage: { ...seen, pullRequest: open } }),
    refresh_pull_request: () => ({ stage: seen }),
    get_feedback: () => ({ feedback: { checks: [{ name: 'test', url: null }], comments } }),
    send_feedback: () => ({ status: 'sent', messageId: '0198f3a2-7c1b-4d1e-9a53-5b8f0c2d4e61' }) as never,
  });
  const sent = (command: string) =>
    page.server.received.filter((one) => one.command === command).map((one) => one.input);
  return { ...page, sent, own };
}

async function dialogOf(user: ReturnType<typeof openPage>['user']) {
  await user.click(await screen.findByRole('button', { name: 'Finish' }));
  return within(await screen.findByRole('dialog', { name: 'Finish Login form' }));
}

it('opens a pull request with texts that can be edited, exactly of what was shown', async () => {
  const uncommitted = plan({ uncommitted: ['a.ts'], uncommittedCount: 1 });
  const { user, sent } = show('/stages/STAGE-1', uncommitted);
  const dialog = await dialogOf(user);
  await user.click(await dialog.findByRole('radio', { name: 'Pull request' }));
  await dialog.findByText(
    'Commit 1 file on callboard/STAGE-1, then push callboard/STAGE-1 (3 commits, 3 files) to github.com/acme/shop, and open a pull request to main.',
  );
  const title = dialog.getByRole('textbox', { name: 'Title' });
  await user.clear(title);
  expect(dialog.getByRole('button', { name: 'Commit and open a pull request to main' })).toHaveProperty(
    'disabled',
    true,
  );
  await user.type(title, 'A form');
  await user.click(dialog.getByRole('checkbox', { name: 'Draft' }));
  await user.clear(dialog.getByRole('textbox', { name: 'Commit message' }));
  await user.type(dialog.getByRole('textbox', { name: 'Commit message' }), 'Rest');
  await user.click(dialog.getByRole('button', { name: 'Commit and open a pull request to main' }));
  await expect
    .poll(() => sent('open_pull_request'))
    .toEqual([
      {
        stageId: 'STAGE-1',
        head,
        tree,
        title: 'A form',
        body: 'Write the form.',
        draft: true,
        receipt: false,
        commit: { message: 'Rest' },
      },
    ]);
  await screen.findByText('#12 open, checks failing, 2 comments');
});

it('lets Claude write title and text, which a person may change, and drops nothing that was typed unasked', async () => {
  const { user, server, sent } = show('/stages/STAGE-1', plan());
  const run = SideRun.parse({
    id: '0198f3a2-7c1b-4d1e-9a53-5b8f0c2d4e61',
    stageId: 'STAGE-1',
    kind: 'pull-request',
    state: 'waiting',
    by: 'Ada',
    phaseIndex: null,
    createdAt: at,
    startedAt: null,
    endedAt: null,
    reason: null,
    diff: null,
    costUsd: null,
    summary: null,
    findings: 0,
    misplaced: [],
    text: null,
  });
  server.answer({ start_side_run: () => ({ run }) });
  const dialog = await dialogOf(user);
  await user.click(await dialog.findByRole('radio', { name: 'Pull request' }));
  const field = (name: string) => dialog.findByRole<HTMLInputElement>('textbox', { name });
  await user.type(await field('Title'), ' now');
  await user.click(await dialog.findByRole('button', { name: 'Ask Claude to write it' }));
  expect(sent('start_side_run')).toEqual([{ stageId: 'STAGE-1', kind: 'pull-request' }]);
  await dialog.findByText(/Claude is writing the title and text/);
  const text = { title: 'Add a login form', body: 'With tests.' };
  act(() => server.emit('side-run-updated', { ...run, state: 'done', endedAt: at, text }));
  await expect.poll(async () => (await field('Text')).value).toBe('With tests.');
  expect((await field('Title')).value).toBe('Login form now');
  await user.click(dialog.getByRole('button', { name: 'Use Claude’s text' }));
  expect((await field('Title')).value).toBe('Add a login form');
  await user.type(await field('Text'), ' More.');
  expect(sent('open_pull_request')).toEqual([]);
  await user.click(dialog.getByRole('button', { name: /^Push and open|^Open/ }));
  await expect
    .poll(() => sent('open_pull_request'))
    .toMatchObject([{ title: 'Add a login form', body: 'With tests. More.' }]);
});

it('says what keeps it from opening one, with the command and the page that lead on', async () => {
  const url = 'https://github.com/acme/shop/compare/main...x?expand=1';
  const message = 'gh is not logged in to github.com. Log in in a terminal, then try again.';
  const problem = { code: 'code_host_login', message, command: 'gh auth login --hostname github.com', url };
  const { user, sent } = show('/stages/STAGE-1', plan({ problem }));
  const dialog = await dialogOf(user);
  await user.click(await dialog.findByRole('radio', { name: 'Pull request' }));
  await dialog.findByText(message);
  dialog.getByText('gh auth login --hostname github.com');
  expect(dialog.getByRole('link', { name: 'Open it by hand' })).toHaveProperty('href', url);
  const reads = sent('get_pull_request').length;
  await user.click(dialog.getByRole('button', { name: 'Check again' }));
  await expect.poll(() => sent('get_pull_request').length).toBeGreaterThan(reads);
});

it('reads the remote again when placeholders of the sandbox were taken out', async () => {
  const message = '1 file of the branch is only a placeholder of Claude Code’s sandbox.';
  const problem = { code: 'push_refused', message, command: null, url: null };
  const { user, server } = show('/stages/STAGE-1', plan({ problem }));
  const found = (placeholders: string[]) => ({ completion: { plan: { ...merge, placeholders }, undo: null } });
  server.answer({ get_completion: () => found(['.zshrc']) });
  const dialog = await dialogOf(user);
  await user.click(await dialog.findByRole('radio', { name: 'Pull request' }));
  await dialog.findByText(message);
  server.answer({
    take_out_placeholders: () => ({ files: ['.zshrc'] }),
    get_completion: () => found([]),
    get_pull_request: () => ({ plan: plan() }),
  });
  await user.click(dialog.getByRole('button', { name: 'Take it out' }));
  await dialog.findByRole('textbox', { name: 'Title' });
});

it('keeps what was ordered when the remote refused, and says what it said', async () => {
  const order = { id: '1', title: 'Kept title', body: 'Kept', draft: true, head };
  const problem = { code: 'push_refused', message: 'origin refuses it.\nmain is frozen', command: null, url: null };
  const finishing = { way: 'pull-request', state: 'refused', by: 'Ada', at, turn: null, order, problem };
  const { user } = show('/stages/STAGE-1', plan(), { finishing });
  const dialog = await dialogOf(user);
  await user.click(await dialog.findByRole('radio', { name: 'Pull request' }));
  expect((await dialog.findByRole<HTMLInputElement>('textbox', { name: 'Title' })).value).toBe('Kept title');
  expect(dialog.getByRole('checkbox', { name: 'Draft' })).toHaveProperty('checked', true);
  dialog.getByText('origin refuses it.');
  dialog.getByText('main is frozen');
});

it('shows the open pull request on the row and the page, and sends what came back to Claude', async () => {
  const { user, sent } = show('/stages/STAGE-1', plan({ unpushed: 0 }), { pullRequest: open });
  const link = await screen.findByRole('link', { name: '#12 open on GitHub' });
  expect(link).toHaveProperty('href', open.url);
  const dialog = await dialogOf(user);
  expect(await dialog.findByRole('radio', { name: 'Pull request' })).toHaveProperty('checked', true);
  expect(dialog.queryByRole('button', { name: /^Open a pull request|^Push/ })).toBeNull();
  await user.click(dialog.getByRole('button', { name: 'Refresh the pull request' }));
  await expect.poll(() => sent('refresh_pull_request')).toHaveLength(1);
  await user.click(dialog.getByRole('button', { name: 'Choose 2 comments ...' }));
  await user.click(await dialog.findByRole('checkbox', { name: /Nice/ }));
  await user.click(dialog.getByRole('button', { name: 'Send 1 comment to Claude' }));
  await expect.poll(() => sent('send_feedback')).toEqual([{ stageId: 'STAGE-1', comments: ['T1'] }]);
});

it('sends failing checks with one click, pushes what is new, and says on the board since when nothing is known', async () => {
  const { user, sent, server, own } = show('/stages/STAGE-1', plan({ unpushed: 1 }), { pullRequest: open });
  const dialog = await dialogOf(user);
  await user.click(await dialog.findByRole('button', { name: 'Push to #12' }));
  await expect.poll(() => sent('open_pull_request')).toEqual([{ stageId: 'STAGE-1', head, tree }]);
  const again = await dialogOf(user);
  await user.click(await again.findByRole('button', { name: 'Send failing checks to Claude' }));
  await expect.poll(() => sent('send_feedback')).toEqual([{ stageId: 'STAGE-1', checks: ['test'] }]);
  const stale = { ...open, stale: 'github.com cannot be reached.' };
  act(() => server.emit('stage-updated', { stageId: own.id, stage: { ...own, pullRequest: stale } }));
  await user.click(screen.getByRole('link', { name: /^Board/ }));
  const row = within(await screen.findByRole('region', { name: /Review/ })).getByRole('article', {
    name: /Login form/,
  });
  expect(row.textContent).toMatch(/#12 open, checks failing, 2 comments, .*ago/);
});

it('shows on Details what people consented to, once somebody asks for it', async () => {
  const { user, server, sent } = show('/stages/STAGE-1?tab=details', plan());
  const calls = [
    { toolUseId: 't', asked: 'Bash npm install', reason: 'person', by: 'ada', detail: null, isAgents: false },
  ];
  const receipt = {
    stageId: 'STAGE-1',
    title: 'Login form',
    total: 1,
    totals: { person: 1 },
    others: [],
    turns: [{ number: 1, at, message: 'Build it', by: 'ada', calls }],
    gaps: ['Turn 2: 3 tool calls have no record of what let it run.'],
  };
  server.answer({ get_receipt: () => ({ receipt, markdown: 'text' }) as never });
  const button = await screen.findByRole('button', { name: 'Show the receipt' });
  expect(sent('get_receipt')).toEqual([]);
  await user.click(button);
  const region = within(await screen.findByRole('region', { name: 'Receipt' }));
  region.getByText('1 tool call in 1 turn');
  region.getByText('allowed by ada');
  region.getByText(/3 tool calls have no record/);
  region.getByRole('button', { name: 'Copy as Markdown' });
});
