import { type CommandReply, NOBODY } from '@callboard/contract';
import { screen, within } from '@testing-library/react';
import type { UserEvent } from '@testing-library/user-event';
import { expect, it } from 'vitest';
import { openPage } from '../../test/open-page.tsx';
import { problem } from '../../test/page-server.ts';
import { at, board, session, stage } from '../../test/samples.ts';

const TITLE = 'Login form';
const exact = (name: string) => ({ name, exact: true });

/** Opens the page of a stage whose session says this, or the board. */
function open(fields: Parameters<typeof session>[1], path = '/stages/STAGE-1') {
  const idle = { state: 'idle', lastTurn: { outcome: 'succeeded', at: at(1), message: null }, ...fields };
  const given = (more = {}) => session('STAGE-1', { ...idle, ...more });
  const view = board({ stages: [{ stage: stage('STAGE-1', { title: TITLE }), session: given() }] });
  const page = openPage(path, { ...view, me: NOBODY });
  page.server.answer({
    get_transcript: () => ({ entries: [], total: 0 }),
    get_drafts: () => ({ drafts: [] }),
  });
  return { ...page, given };
}

/** Presses a button by key. */
async function press(user: UserEvent, button: HTMLElement): Promise<void> {
  button.focus();
  await user.keyboard('{Enter}');
}

const LAUNCH = '0198f3a2-7c1b-4d1e-9a53-5b8f0c2d4e61';
const TASK = {
  taskId: 'b1',
  type: 'local_bash',
  description: 'Start the dev server',
  toolUseId: 'toolu_1',
  command: 'npm run dev',
  startedAt: at(0),
};

it('shows background tasks and their output; a person stops one', async () => {
  const { user, server, given } = open({ backgroundTasks: [TASK] });
  const output = (text: string) => ({ output: text, totalBytes: text.length, isCut: false });
  const ready = '\u001b[32mready\u001b[0m on port 5173\u202e\n';
  server.answer({
    get_task_output: () => output(ready),
    stop_task: () => {
      server.answer({ get_task_output: () => output(`${ready}[killed]\n`) });
      server.emit('session-updated', given({ backgroundTasks: [] }));
      return { tasks: [] };
    },
  });
  const tasks = within(await screen.findByRole('region', { name: 'Background tasks' }));
  await press(user, tasks.getByRole('button', { name: '1 background task: Start the dev server' }));
  tasks.getByRole('button', { name: 'Stop Start the dev server' });
  await press(user, tasks.getByRole('button', { name: 'Output of Start the dev server' }));
  const dialog = within(await screen.findByRole('dialog', { name: 'Output of Start the dev server' }));
  const text = () => document.querySelector('[role="dialog"]')?.textContent;
  await expect.poll(text).toContain('ready on port 5173U+202E');
  await press(user, dialog.getByRole('button', { name: 'Stop' }));
  await dialog.findByText('Not running any more.');
  await expect.poll(text).toContain('[killed]');
  await user.keyboard('{Escape}');
  await expect.poll(() => screen.queryByRole('dialog')).toBeNull();
  expect(screen.queryByRole('region', { name: 'Background tasks' })).toBeNull();
  expect(server.received).toContainEqual({ command: 'stop_task', input: { stageId: 'STAGE-1', taskId: 'b1' } });
});

it('says what a stage waits for in the background, and a person marks it as meant to keep running', async () => {
  const now = { kind: 'background', taskId: 'b1', action: 'npm run dev', isCommand: true, since: at(0), others: 0 };
  const waiting = { backgroundTasks: [TASK], now };
  const { user, server, given } = open(waiting);
  server.answer({
    mark_task: () => {
      server.emit('session-updated', given({ backgroundTasks: [{ ...TASK, mark: 'keep-running' }], now }));
      return { tasks: [] };
    },
  });
  await screen.findByText('Waiting for a background command');
  await screen.findByText('Waiting for the background command', { exact: false, selector: 'p *' });
  server.emit('session-updated', given({ ...waiting, stalledSince: at(0) }));
  const tasks = within(await screen.findByRole('region', { name: 'Background tasks' }));
  await tasks.findByText(/Is it meant to keep running/);
  tasks.getByRole('button', exact('Wait for Start the dev server'));
  await press(user, tasks.getByRole('button', exact('Keep Start the dev server running')));
  await expect.poll(() => screen.queryByText(/Is it meant to keep running/)).toBeNull();
  await screen.findByText('Review');
  const input = { stageId: 'STAGE-1', taskId: 'b1', mark: 'keep-running' };
  expect(server.received).toContainEqual({ command: 'mark_task', input });
});

/** The next wake-up of two that Claude has planned. */
function plannedWakeUps() {
  const soon = new Date();
  soon.setHours(23, 59, 30, 0);
  return [
    { id: 'a2e7', what: 'check the build', at: null },
    { id: 'loop', what: 'look at CI', at: soon.toISOString() },
  ];
}

it('says on the card when Claude wakes by itself', async () => {
  open({ launchId: LAUNCH, wakeUps: plannedWakeUps() }, '/');
  await screen.findByText(/Wakes at 23:59/);
});

it('lists when Claude wakes by itself, as long as it has a process', async () => {
  const wakeUps = plannedWakeUps();
  const { given, server } = open({ launchId: LAUNCH, wakeUps });
  const planned = within(await screen.findByRole('region', { name: 'Planned wake-ups' }));
  expect(planned.getAllByRole('listitem').map(({ textContent }) => textContent)).toEqual([
    'Wakes at 23:59: look at CI',
    'Wakes repeatedly: check the build',
  ]);
  server.emit('session-updated', given({ launchId: null, wakeUps }));
  await expect.poll(() => screen.queryByRole('region', { name: 'Planned wake-ups' })).toBeNull();
});

it('shows MCP servers, and a person reconnects one, or sees why not', async () => {
  const { user, server, given } = open({ mcpServers: [{ name: 'shop', state: 'failed' }] });
  const shop = { name: 'shop', state: 'failed', error: 'Connection closed', tools: null, scope: 'user' } as const;
  const connected: CommandReply<'get_mcp_servers'> = {
    servers: [{ ...shop, state: 'connected', error: null, tools: 1 }],
  };
  server.answer({
    get_mcp_servers: () => ({ servers: [shop] }),
    reconnect_mcp_server: () => problem('mcp_not_connected', 'shop did not connect: Connection closed'),
  });
  const servers = within(await screen.findByRole('region', { name: 'MCP servers' }));
  await press(user, servers.getByRole('button', { name: '1 MCP server: failed' }));
  await servers.findByText('Connection closed');
  await press(user, servers.getByRole('button', { name: 'Reconnect shop' }));
  await screen.findByText(/did not connect: Connection closed/);
  server.answer({
    get_mcp_servers: () => connected,
    reconnect_mcp_server: () => {
      server.emit('session-updated', given({ mcpServers: [{ name: 'shop', state: 'connected' }] }));
      return connected;
    },
  });
  await press(user, servers.getByRole('button', { name: 'Reconnect shop' }));
  await servers.findByRole('button', { name: '1 MCP server: connected' });
  await servers.findByText(/1 tool/);
});

it('lists processes that outlive a session, and ends them when a person says so', async () => {
  const { user, server, given } = open({ state: 'ended', leftovers: 0 });
  await screen.findByRole('textbox', { name: 'Message' });
  expect(screen.queryByRole('region', { name: /still running/ })).toBeNull();
  const processes = [310, 311].map((pid) => ({ pid, command: `sleep ${pid}`, startedAt: at(0) }));
  server.answer({
    get_leftovers: () => ({ processes }),
    end_leftovers: () => {
      server.answer({ get_leftovers: () => ({ processes: [] }) });
      return { processes: [] };
    },
  });
  server.emit('session-updated', given({ state: 'ended', leftovers: 2 }));
  const section = within(await screen.findByRole('region', { name: '2 processes of this session are still running' }));
  section.getByText('sleep 310');
  await user.click(section.getByRole('button', { name: 'End 2 processes' }));
  await expect.poll(() => screen.queryByRole('region', { name: /still running/ })).toBeNull();
  expect(server.received).toContainEqual({
    command: 'end_leftovers',
    input: { stageId: 'STAGE-1', pids: [310, 311] },
  });
});

const OLD = '2.1.232';
const GAPS = {
  cliVersion: OLD,
  cliGaps: [
    'tools that a hook allows go unnoticed',
    'a message that begins with / runs as a command, and @path attaches files',
  ],
};
const LACKS = [
  'Tools that a hook allows go unnoticed.',
  'A message that begins with / runs as a command, and @path attaches files.',
];
const TEXTS = `Claude Code ${OLD} lacks 2 features Callboard relies on`;

it('shows on the card what the release of Claude Code lacks', async () => {
  open(GAPS, '/');
  const card = within(await screen.findByRole('article', exact(TITLE)));
  const icon = card.getByRole('img', { name: `${TEXTS}: ${LACKS.join(' ')}` });
  expect(icon.getAttribute('title')).toContain(TEXTS);
});

it('shows on the page and in the details of a stage what its release of Claude Code lacks', async () => {
  const { user } = open(GAPS);
  const line = within(await screen.findByRole('region', { name: 'Claude Code' }));
  const shown = () => line.queryAllByRole('listitem').map(({ textContent }) => textContent);
  expect(shown()).toEqual([]);
  await user.click(line.getByRole('button', { name: TEXTS }));
  await expect.poll(shown).toEqual(LACKS);
  line.getByText('claude update');
  await user.click(screen.getByRole('link', { name: 'Details' }));
  const details = await screen.findByRole('region', { name: 'Details' });
  const versions = [...details.querySelectorAll('dt')].flatMap(({ textContent, nextElementSibling }) =>
    textContent === 'Claude Code' ? [nextElementSibling?.textContent] : [],
  );
  expect(versions).toEqual([OLD]);
});

it('changes title, priority and dependencies of a stage in their place', async () => {
  const own = stage('STAGE-1', { title: 'Login form' });
  const other = stage('STAGE-2', { title: 'Search index', projectId: own.projectId });
  const view = board({ stages: [{ stage: own }, { stage: other }] });
  const [seen] = view.stages;
  if (seen === undefined) throw new Error('the board is empty');
  const { user, server } = openPage('/stages/STAGE-1?tab=details', view);
  server.answer({ update_stage: () => ({ stage: seen }), get_drafts: () => ({ drafts: [] }) });
  const plan = within(await screen.findByRole('region', { name: 'Plan' }));
  const title = plan.getByLabelText('Title');
  await user.clear(title);
  await user.tab(); // no stage is without a title
  await user.clear(title);
  await user.type(title, 'Log in{Enter}');
  const sent = () => server.received.flatMap(({ command, input }) => (command === 'update_stage' ? [input] : []));
  await expect.poll(sent).toEqual([{ stageId: 'STAGE-1', patch: { title: 'Log in' } }]);
  await user.selectOptions(plan.getByRole('combobox', { name: 'Priority' }), 'Urgent');
  await expect.poll(sent).toContainEqual({ stageId: 'STAGE-1', patch: { priority: 0 } });
  await user.click(plan.getByLabelText('Depends on'));
  await user.click(await screen.findByRole('option', { name: 'Search index (STAGE-2)' }));
  await expect.poll(sent).toContainEqual({ stageId: 'STAGE-1', patch: { dependsOn: ['STAGE-2'] } });
});
