import type { StageView, WorktreeCommand } from '@callboard/contract';
import { screen, waitFor, within } from '@testing-library/react';
import { expect, it } from 'vitest';
import { openPage } from '../../test/open-page.tsx';
import { problem } from '../../test/page-server.ts';
import { board, session, stage } from '../../test/samples.ts';

const AT = '2026-01-01T10:00:00.000Z';
const worktree = { path: '/w/STAGE-1', branch: 'callboard/STAGE-1', base: 'f'.repeat(40) };
const run = (fields: Partial<WorktreeCommand> = {}): WorktreeCommand => ({
  id: 'aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa',
  stageId: stage('STAGE-1').id,
  kind: 'setup',
  name: 'setup',
  command: 'npm ci',
  attempt: 1,
  state: 'failed',
  exitCode: 1,
  reason: 'It ended with exit code 1.',
  isolation: { level: 'none', reason: 'bubblewrap (bwrap) is not installed.' },
  by: null,
  startedAt: AT,
  endedAt: AT,
  port: null,
  ...fields,
});

function open(path: string, summary: Record<string, unknown>, fields: Record<string, unknown> = {}) {
  const own = stage('STAGE-1', { title: 'Login form', worktree, ...fields });
  const view = board({ stages: [{ stage: own, session: session('STAGE-1', summary) }] });
  const page = openPage(path, view);
  const [seen] = view.stages as [StageView];
  page.server.answer({
    get_stage_commands: () => ({ commands: [run()] }),
    get_command_output: ({ after = 0 }) =>
      after === 0
        ? { output: 'npm error missing: left-pad\n', from: 0, to: 28, total: 28, isCut: false }
        : { output: '', from: after, to: after, total: after, isCut: false },
    start_stage: () => ({ stage: seen }),
    remake_worktree: () => ({ stage: seen }),
    get_servers: () => ({ servers: [] }),
  });
  const sent = (command: string) =>
    page.server.received.filter((one) => one.command === command).map((one) => one.input);
  return { ...page, sent };
}

const failed = (code: string, message = 'x') => ({
  state: 'failed',
  lastTurn: { outcome: 'failed', at: AT, message, code },
});

it('shows why a worktree could not be set up, runs it again, and starts without it', async () => {
  const { user, sent } = open('/stages/STAGE-1', failed('setup-failed'), { setup: 'due' });
  const panel = await screen.findByRole('region', { name: 'The worktree could not be set up' });
  await within(panel).findByText(/npm error missing: left-pad/);
  within(panel).getByText('Outside the sandbox. bubblewrap (bwrap) is not installed.');
  expect(within(panel).getByRole('status').textContent).toContain('It ended with exit code 1. Claude was not started.');
  // One button for one thing: the head has none that would do the same.
  expect(screen.queryByRole('button', { name: /^(Continue|Start again)$/ })).toBeNull();
  await user.click(within(panel).getByRole('button', { name: 'Run again' }));
  await waitFor(() => expect(sent('start_stage')).toEqual([{ stageId: 'STAGE-1' }]));
  await user.click(within(panel).getByRole('button', { name: 'Start without it' }));
  await waitFor(() => expect(sent('start_stage').at(-1)).toEqual({ stageId: 'STAGE-1', withoutSetup: true }));
});

it('offers to go on without a fetch, and to review what callboard.yaml would run', async () => {
  const first = open('/stages/STAGE-1', failed('fetch-failed', 'git fetch origin failed'), { worktree: null });
  const panel = await screen.findByRole('region', { name: 'Nothing could be fetched' });
  within(panel).getByText('git fetch origin failed');
  await first.user.click(within(panel).getByRole('button', { name: 'Start with what is here' }));
  await waitFor(() => expect(first.sent('start_stage')).toEqual([{ stageId: 'STAGE-1', withoutFetch: true }]));
});

it('says what stands in the place of a worktree, and makes it again with one press, then starts', async () => {
  const text = '/w/STAGE-1 is a symbolic link to /repos/web. Lost is what was not committed there.';
  const { user, sent } = open('/stages/STAGE-1', failed('worktree-replaced', text));
  const panel = await screen.findByRole('region', { name: 'The worktree is not in its place' });
  within(panel).getByText(text);
  expect(screen.queryByRole('button', { name: /^(Continue|Start again)$/ })).toBeNull();
  await user.click(within(panel).getByRole('button', { name: 'Make the worktree again' }));
  await waitFor(() => expect(sent('start_stage')).toEqual([{ stageId: 'STAGE-1' }]));
  expect(sent('remake_worktree')).toEqual([{ stageId: 'STAGE-1' }]);
});

it('offers to make a worktree again where a command was refused because of it', async () => {
  const { user, server, sent } = open('/stages/STAGE-1?tab=details', { state: 'idle' });
  server.answer({
    open_in_editor: () => problem('worktree_replaced', 'There is no worktree at /w/STAGE-1 any more.'),
  });
  await user.click(await screen.findByRole('button', { name: 'Open in editor' }));
  await screen.findByText('There is no worktree at /w/STAGE-1 any more.');
  await user.click(screen.getByRole('button', { name: 'Make the worktree again' }));
  await waitFor(() => expect(sent('remake_worktree')).toEqual([{ stageId: 'STAGE-1' }]));
  expect(sent('start_stage')).toEqual([]);
});

it('starts and stops dev servers among the details, and links to their ports without the login', async () => {
  const { user, server, sent } = open('/stages/STAGE-1?tab=details', { state: 'idle' });
  const web = run({
    kind: 'server',
    name: 'web',
    command: 'npm run dev',
    state: 'running',
    exitCode: null,
    reason: null,
  });
  let now: WorktreeCommand | null = null;
  server.answer({
    get_stage_commands: () => ({ commands: [] }),
    get_servers: () => ({ servers: [{ name: 'web', command: 'npm run dev', run: now }] }),
    start_server: () => {
      now = { ...web, endedAt: null, port: 21_340 };
      return { server: { name: 'web', command: 'npm run dev', run: now } };
    },
    stop_server: () => {
      now = { ...web, state: 'stopped', reason: 'Stopped by Ada.' };
      return { server: { name: 'web', command: 'npm run dev', run: now } };
    },
  });
  const details = await screen.findByRole('region', { name: 'Details' });
  await user.click(await within(details).findByRole('button', { name: 'Start web' }));
  const link = await within(details).findByRole('link', { name: 'Open web on port 21340' });
  expect(link.getAttribute('href')).toBe('http://localhost:21340/');
  expect(link.getAttribute('rel')).toBe('noopener noreferrer');
  await user.click(within(details).getByRole('button', { name: 'Stop web' }));
  await within(details).findByText('Stopped by Ada.');
  expect(sent('stop_server')).toEqual([{ stageId: 'STAGE-1', name: 'web' }]);
});

it('opens the worktree in an editor, and says why if that fails', async () => {
  const { user, server, sent } = open('/stages/STAGE-1?tab=details', { state: 'idle' });
  server.answer({ open_in_editor: () => problem('no_editor', 'No editor was found on PATH.') });
  await user.click(await screen.findByRole('button', { name: 'Open in editor' }));
  await screen.findByText('No editor was found on PATH.');
  expect(sent('open_in_editor')).toEqual([{ stageId: 'STAGE-1' }]);
});

it('goes on where the output of a run was, and skips to its end when more than a page has come', async () => {
  const { user, server } = open('/stages/STAGE-1?tab=details', { state: 'idle' });
  const running = run({ state: 'running', exitCode: null, reason: null, endedAt: null });
  const pages = [
    { output: 'one\n', from: 0, to: 4, total: 4, isCut: false },
    { output: 'two\n', from: 4, to: 8, total: 8, isCut: false },
    { output: 'three\n', from: 8, to: 14, total: 900_000, isCut: false },
    { output: 'the end\n', from: 899_992, to: 900_000, total: 900_000, isCut: true },
  ];
  const asked: (number | undefined)[] = [];
  server.answer({
    get_stage_commands: () => ({ commands: [running] }),
    get_command_output: ({ after }) => {
      asked.push(after === undefined ? undefined : Number(after));
      return pages[asked.length - 1] ?? { output: '', from: 900_000, to: 900_000, total: 900_000, isCut: false };
    },
  });
  await user.click(await screen.findByRole('button', { name: 'Show output of setup' }));
  await screen.findByText(/one\s+two/);
  await screen.findByText('the end');
  screen.getByText('Only the end is shown.');
  expect(screen.queryByText(/three/)).toBeNull();
  expect(asked.slice(0, 4)).toEqual([undefined, 4, 8, undefined]);
});
