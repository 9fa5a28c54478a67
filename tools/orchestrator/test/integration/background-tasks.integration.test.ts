import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { prompt } from '@callboard/scripted-model';
import { expect, it } from 'vitest';
import { git } from '../../../../test-support/git.ts';
import { itAll } from '../../../../test-support/it-all.ts';
import { mcpServer } from '../../../../test-support/mcp-server.ts';
import { createKit, type Kit } from '../support/kit.ts';
import { livingProcess } from '../support/living-process.ts';
import { write } from '../support/settings-files.ts';

const inBackground = (command: string, description: string) => ({
  tools: [{ name: 'Bash', input: { command, description, run_in_background: true } }],
});
const asks = { tools: [{ name: 'Bash', input: { command: 'touch asked', description: 'Wait for a person' } }] };

it('raises no alarm when a background command ends while a turn waits for a person', async () => {
  const { client, startStage } = await createKit();
  const steps = [inBackground('echo short; sleep 1', 'Be quick'), asks, { text: 'Done.' }];
  const stageId = await startStage(prompt({ steps }));
  const { requestId } = await client.event('approval-requested');
  // The task was listed before its call had a result, so before this request.
  await expect.poll(async () => (await client.command('get_tasks', { stageId })).tasks).toEqual([]);
  await client.command('approve_tool', { stageId, requestId, decision: 'allow' });
  await client.state(stageId, 'idle');
  const { session } = await client.command('get_session', { stageId });
  expect(session).toMatchObject({ alarm: null, lastTurn: { outcome: 'succeeded' } });
});

it('lists a background command, shows its output, and stops it', async () => {
  const kit = await createKit();
  const { client, model } = kit;
  const command = 'echo listening; echo "$0" >&2; sleep 600';
  const steps = [inBackground(command, 'Serve the shop'), { text: 'It runs.' }, { text: 'I see.' }];
  const stageId = await kit.startStage(prompt({ steps }), { permissionMode: 'acceptEdits' });
  const { requestId } = await client.event('approval-requested');
  await client.command('approve_tool', { stageId, requestId, decision: 'allow' });
  await client.state(stageId, 'idle');

  const { tasks } = await client.command('get_tasks', { stageId });
  const [task] = tasks;
  expect(tasks).toEqual([
    {
      taskId: expect.stringMatching(/./),
      type: 'local_bash',
      description: 'Serve the shop',
      toolUseId: expect.stringContaining('toolu_'),
      command,
      startedAt: expect.stringMatching(/^\d{4}-/),
      mark: null,
    },
  ]);
  const of = { stageId, taskId: task?.taskId };
  const read = () => client.command('get_task_output', of);
  await expect.poll(async () => (await read()).output).toMatch(/^listening\n.*bash/);
  expect(await read()).toMatchObject({ isCut: false, totalBytes: expect.any(Number) });

  expect(await client.command('stop_task', of)).toEqual({ tasks: [] });
  expect((await client.command('get_session', { stageId })).session.backgroundTasks).toEqual([]);
  expect((await read()).output).toContain('[killed]');
  expect(await client.transcript(stageId)).toContainEqual(
    expect.objectContaining({ code: 'task-stopped', text: 'Ada stopped the background task "Serve the shop".' }),
  );
  const unknown = { code: 'unknown_task' };
  await expect(client.command('stop_task', of)).rejects.toMatchObject(unknown);
  await expect(client.command('get_task_output', { stageId, taskId: 'nobody' })).rejects.toMatchObject(unknown);

  // The next message tells Claude, in a line that no person sent.
  const turns = model.requests.length;
  await client.command('send_message', { stageId, message: 'Go on.' });
  await expect.poll(() => model.requests.length).toBeGreaterThan(turns);
  expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain('was stopped by the user');
  await client.state(stageId, 'idle');
  expect((await client.command('get_session', { stageId })).session.alarm).toBeNull();

  await client.command('stop_stage', { stageId });
  const gone = { code: 'not_running' };
  await expect(client.command('stop_task', of)).rejects.toMatchObject(gone);
  await expect(client.command('get_task_output', of)).rejects.toMatchObject(gone);
  await expect(client.command('get_mcp_servers', { stageId })).rejects.toMatchObject(gone);
  expect(await client.command('get_tasks', { stageId })).toEqual({ tasks: [] });
});

itAll('stops a subagent, which has no output', async () => {
  const { client, startStage } = await createKit();
  const part = prompt({ steps: [{ text: 'Working.', hangs: true }] }, 'Do the part');
  const agent = { description: 'the part', prompt: part, subagent_type: 'general-purpose' };
  const stageId = await startStage(
    prompt({
      steps: [{ tools: [{ name: 'Agent', input: agent }] }, { text: 'Started.' }, { text: 'It was stopped.' }],
    }),
  );
  await client.event('session-updated', ({ lastTurn }) => lastTurn !== null);
  const { tasks } = await client.command('get_tasks', { stageId });
  expect(tasks).toMatchObject([{ type: 'local_agent', description: 'the part', command: null }]);
  const of = { stageId, taskId: tasks[0]?.taskId };
  await expect(client.command('get_task_output', of)).rejects.toMatchObject({
    code: 'unknown_task',
    message: expect.stringContaining('transcript'),
  });
  expect(await client.command('stop_task', of)).toEqual({ tasks: [] });
  await client.state(stageId, 'idle');
  expect((await client.command('get_session', { stageId })).session.alarm).toBeNull();
});

itAll('reports the state of MCP servers, and reconnects a failed one', async () => {
  const kit = await createKit();
  const { client, folder, repo } = kit;
  const broken = join(folder, 'broken');
  await writeFile(broken, '');
  const server = mcpServer({ failsWhile: broken, tools: ['price', 'stock'] });
  const name = 'shop/50% off';
  const other = { type: 'http', url: 'http://127.0.0.1:9/mcp?key=secret', headers: { Authorization: 'secret' } };
  await writeFile(join(repo, '.mcp.json'), JSON.stringify({ mcpServers: { [name]: server, other } }));
  await git(repo, 'add', '.');
  await git(repo, 'commit', '--quiet', '-m', 'Servers');
  const { trust } = await client.command('get_trust', { projectId: 'shop' });
  await client.command('trust_project', { projectId: 'shop', hash: trust.hash });
  const stageId = await kit.startStage(prompt({ steps: [{ text: 'Hello.' }] }));
  await client.state(stageId, 'idle');

  const list = async () => (await client.command('get_mcp_servers', { stageId })).servers;
  const one = async () => (await list()).find((candidate) => candidate.name === name);
  await expect.poll(one).toEqual({ name, state: 'failed', error: 'Connection closed', tools: null, scope: 'project' });
  expect(JSON.stringify(await list())).not.toContain('secret');
  expect((await client.command('get_session', { stageId })).session.mcpServers).toContainEqual({
    name,
    state: 'failed',
  });
  const reconnect = (wanted: string) => client.command('reconnect_mcp_server', { stageId, name: wanted });
  await expect(reconnect(name)).rejects.toMatchObject({
    code: 'mcp_not_connected',
    message: expect.stringContaining(`"${name}" did not connect: Connection closed. Check its settings`),
  });
  await expect(reconnect('nobody')).rejects.toMatchObject({ code: 'unknown_mcp_server' });

  await rm(broken);
  const connected = { name, state: 'connected', error: null, tools: 2 };
  expect((await reconnect(name)).servers).toContainEqual({ ...connected, scope: 'project' });
  await client.event('session-updated', ({ mcpServers }) =>
    mcpServers.some((reported) => reported.name === name && reported.state === 'connected'),
  );
});

it('says what woke Claude where a background command did, and shows no turn in which Claude did nothing', async () => {
  const kit = await createKit();
  const { client, startStage } = kit;
  const steps = [inBackground('sleep 1; echo finished', 'Wait a bit'), { text: 'Started.' }, { text: 'It is done.' }];
  const stageId = await startStage(prompt({ steps }));
  const said = async () =>
    (await client.transcript(stageId)).map((entry) => ('text' in entry ? entry.text : entry.kind));
  await expect.poll(said).toContain('It is done.');
  await client.state(stageId, 'idle');
  const woken = 'Claude Code went on by itself: Background command "Wait a bit" completed (exit code 0).';
  expect((await said()).slice(-5)).toEqual(['Started.', 'turn-end', woken, 'It is done.', 'turn-end']);

  // A command that its process leaves behind: the resumed one takes note of that in an empty turn of its own.
  const long = prompt({ steps: [inBackground('sleep 600; echo never', 'Wait long'), { text: 'It runs.' }] });
  await client.command('send_message', { stageId, message: long });
  await expect.poll(said).toContain('It runs.');
  await client.state(stageId, 'idle');
  process.kill((await livingProcess(kit, stageId)).pid, 'SIGKILL');
  await client.state(stageId, 'ended');
  const before = await client.transcript(stageId);
  await client.command('send_message', { stageId, message: 'Hello' });
  await client.state(stageId, 'idle');
  const after = (await client.transcript(stageId)).slice(before.length);
  expect(after.filter(({ kind }) => kind === 'turn-end')).toHaveLength(1);
  expect(after.filter((entry) => entry.kind === 'notice' && entry.code === 'woken')).toEqual([]);
});

const allowAll = async ({ client }: Pick<Kit, 'client'>, stageId: string, times: number) => {
  for (let n = 0; n < times; n++) {
    const { requestId } = await client.event('approval-requested', (asked) => asked.stageId === stageId);
    await client.command('approve_tool', { stageId, requestId, decision: 'allow' });
  }
};
const noticed = async ({ client }: Pick<Kit, 'client'>, stageId: string, code: string) =>
  (await client.transcript(stageId)).flatMap((entry) =>
    entry.kind === 'notice' && entry.code === code ? [entry.text] : [],
  );

it('lets check, next phase, merge and the end of a stage wait for a background command and what Claude then says', async () => {
  const kit = await createKit();
  const { client, repo } = kit;
  const command = 'until test -e go; do sleep 0.1; done; echo OK > r.txt; git add r.txt; git commit -qm Result';
  const work = [inBackground(command, 'Run the tests'), { text: 'I will report.' }, { text: 'The tests pass.' }];
  const check = { command: 'grep OK r.txt', timeLimit: 60, attempts: 1 };
  const pipeline = [
    { name: 'Build', prompt: prompt({ steps: work }), gate: { check } },
    { name: 'Finish', prompt: `${prompt({ steps: [{ text: 'Finished.' }] })} The verdict: {{previous.result}}` },
  ];
  const stageId = await kit.startStage('Build it.', { pipeline, finish: 'merge', permissionMode: 'acceptEdits' });
  await allowAll(kit, stageId, 1);
  await client.state(stageId, 'idle');

  const of = { stageId };
  const { stage } = await client.command('get_stage', of);
  expect(stage).toMatchObject({ column: 'running', session: { phaseIndex: 0, check: null, atGate: false } });
  expect(stage.session?.now).toMatchObject({ kind: 'background', action: command, isCommand: true, others: 0 });
  for (const refused of [client.command('complete_stage', { ...of, merge: true }), client.command('run_check', of)])
    await expect(refused).rejects.toMatchObject({
      code: 'background_work',
      message: expect.stringContaining('until test -e go'),
    });
  const { completion } = await client.command('get_completion', of);
  expect(completion.plan?.refusal).toContain('still runs in the background: until test -e go');
  await kit.endIdle();
  expect((await client.command('get_session', of)).session).toMatchObject({ state: 'idle', backgroundTasks: [{}] });
  expect((await client.command('get_phases', of)).phases).toMatchObject([{ phase: 'Build', endedAt: null }]);

  await writeFile(join(stage.worktree?.path ?? '', 'go'), '');
  await client.event(
    'stage-updated',
    (reported) => reported.stage.id === stageId && reported.stage.completedAt !== null,
  );
  const { phases } = await client.command('get_phases', of);
  expect(phases).toMatchObject([{ phase: 'Build' }, { phase: 'Finish', result: 'Finished.' }]);
  expect(phases[1]?.prompt).toContain(`The verdict: ${phases[0]?.result}`);
  expect((await client.command('get_stage', of)).stage).toMatchObject({ column: 'done', merged: { into: 'main' } });
  expect(await readFile(join(repo, 'r.txt'), 'utf8')).toBe('OK\n');
  expect(await noticed(kit, stageId, 'tasks-ended')).toEqual([]);
});

it('waits for no command that is meant to keep running, knows it again, and names it when it is ended', async () => {
  const kit = await createKit();
  const { client } = kit;
  const serve = 'echo serving; sleep 600';
  const steps = [inBackground(serve, 'Serve the shop'), { text: 'It runs.' }];
  const stageId = await kit.startStage(prompt({ steps }));
  await client.state(stageId, 'idle');
  const column = async () => (await client.command('get_stage', { stageId })).stage.column;
  expect(await column()).toBe('running');
  // A message is delivered all the same.
  await client.command('send_message', { stageId, message: prompt({ steps: [{ text: 'I am here.' }] }) });
  const turns = async () => (await client.transcript(stageId)).filter(({ kind }) => kind === 'turn-end').length;
  await expect.poll(turns).toBe(2);
  expect(await column()).toBe('running');
  const { tasks } = await client.command('get_tasks', { stageId });
  const mark = (taskId: string | undefined, to: string | null) =>
    client.command('mark_task', { stageId, taskId, mark: to });
  expect((await mark(tasks[0]?.taskId, 'keep-running')).tasks).toMatchObject([{ mark: 'keep-running' }]);
  expect(await column()).toBe('review');
  expect(await noticed(kit, stageId, 'task-marked')).toEqual([
    'Ada marked the background command "Serve the shop" as meant to keep running: nothing waits for it.',
  ]);
  await expect(mark('nobody', 'work')).rejects.toMatchObject({ code: 'unknown_task' });

  await client.command('stop_stage', { stageId });
  expect(await noticed(kit, stageId, 'tasks-ended')).toEqual([
    expect.stringMatching(
      /^Stopped in the background: the command "Serve the shop" \(echo serving; sleep 600\), after \d+ s\.$/,
    ),
  ]);
  await client.command('send_message', { stageId, message: prompt({ steps }) });
  const again = async () => (await client.command('get_tasks', { stageId })).tasks;
  await expect.poll(again).toMatchObject([{ command: serve, mark: 'keep-running' }]);
  await expect.poll(column).toBe('review');
});

it('says before the first turn what an MCP server said that failed at its start, and with its state', async () => {
  const kit = await createKit();
  const { client, folder, env } = kit;
  const broken = join(folder, 'broken');
  await writeFile(broken, '');
  const says = '\u001b[31mError: DATABASE_URL is not set';
  const server = mcpServer({ failsWhile: broken, says });
  await write(env.HOME ?? '', { '.claude.json': { mcpServers: { 'my shop': server } } });
  const stageId = await kit.startStage(prompt({ steps: [{ text: 'Hello.' }] }));
  await client.state(stageId, 'idle');
  const entries = await client.transcript(stageId);
  const [notice, said] = entries.filter(({ kind }) => kind === 'notice' || kind === 'text');
  const text = expect.stringContaining(
    'The MCP server "my shop" did not start. It said: Error: DATABASE_URL is not set\n',
  );
  expect(notice).toMatchObject({ kind: 'notice', code: 'mcp-failed', level: 'warning', text });
  expect(said).toMatchObject({ kind: 'text', text: 'Hello.' });
  const { servers } = await client.command('get_mcp_servers', { stageId });
  expect(servers).toMatchObject([{ name: 'my shop', state: 'failed', stderr: 'Error: DATABASE_URL is not set' }]);
  await client.command('send_message', { stageId, message: prompt({ steps: [{ text: 'Again.' }] }) });
  await expect.poll(async () => JSON.stringify(await client.transcript(stageId))).toContain('Again.');
  const notices = (await client.transcript(stageId)).filter(
    (entry) => entry.kind === 'notice' && entry.code === 'mcp-failed',
  );
  expect(notices).toHaveLength(1);
});
