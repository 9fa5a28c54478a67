import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TranscriptEntry } from '@callboard/contract';
import { prompt } from '@callboard/scripted-model';
import { expect, it } from 'vitest';
import { git } from '../../../../test-support/git.ts';
import { itAll } from '../../../../test-support/it-all.ts';
import { createKit } from '../support/kit.ts';

const said = (text: string) => prompt({ steps: [{ text }] });

it('changes mode, model and effort of a running session, confirmed by the CLI', async () => {
  const { client, startStage, model } = await createKit();
  const stageId = await startStage(said('First.'));
  await client.state(stageId, 'idle');
  const changed = await client.command('set_mode', { stageId, mode: 'acceptEdits' });
  expect(changed.session.mode).toBe('acceptEdits'); // the status line of the CLI comes after its reply
  await client.event('mode-changed', ({ mode }) => mode === 'acceptEdits');
  await expect(client.command('set_mode', { stageId, mode: 'bypassPermissions' })).rejects.toMatchObject({
    code: 'refused_by_claude',
  });
  await client.command('set_model', { stageId, model: 'sonnet', effort: 'low' });
  // The choice shows at once, not only from the next turn on.
  expect((await client.command('get_session', { stageId })).session).toMatchObject({ model: 'sonnet', effort: 'low' });
  await client.command('send_message', { stageId, message: said('Second.') });
  await expect.poll(() => model.requests.at(-1)?.model).toContain('sonnet');
  await client.state(stageId, 'idle');
  const { session } = await client.command('get_session', { stageId });
  expect(session).toMatchObject({ mode: 'acceptEdits', effort: 'low', model: expect.stringContaining('sonnet') });

  // And again after the process ended: the mode and the model are passed again.
  await client.command('stop_stage', { stageId });
  if (process.getuid?.() === 0) {
    await expect(client.command('set_mode', { stageId, mode: 'bypassPermissions' })).rejects.toMatchObject({
      code: 'refused_by_claude',
      message: expect.stringContaining('cannot be used with root'),
    });
  }
  await client.command('send_message', { stageId, message: said('Third.') });
  await client.event('session-updated', (s) => s.launchId !== session.launchId && s.state === 'idle');
  expect((await client.command('get_session', { stageId })).session).toMatchObject({
    mode: 'acceptEdits',
    model: expect.stringContaining('sonnet'),
  });
});

it('reports cost, tokens and context while a turn runs, and counts them exactly once after it', async () => {
  const { client, startStage } = await createKit();
  const stageId = await startStage(
    prompt({
      steps: [
        { text: 'First.', tools: [{ name: 'Bash', input: { command: 'touch a.txt' } }] },
        { text: 'Now the other one.' },
      ],
    }),
  );
  const { requestId } = await client.event('approval-requested');
  const { turnUsage, contextUsage, costUsd, state } = await client.event(
    'session-updated',
    (s) => s.turnUsage !== null && s.contextUsage !== null,
  );
  expect({ state, costUsd }).toEqual({ state: 'waiting', costUsd: 0 });
  expect(turnUsage?.costUsd).toBeGreaterThan(0);
  expect(turnUsage?.tokens.input).toBeGreaterThan(0);
  expect(contextUsage?.usedTokens).toBeGreaterThan(0);
  await client.command('approve_tool', { stageId, requestId, decision: 'allow' });
  await client.state(stageId, 'idle');
  const { session } = await client.command('get_session', { stageId });
  expect(session.turnUsage).toBeNull();
  expect(session.costUsd).toBeGreaterThan(turnUsage?.costUsd ?? Number.POSITIVE_INFINITY);
  expect(session.tokens?.input).toBeGreaterThan(turnUsage?.tokens.input ?? Number.POSITIVE_INFINITY);
  const { maxTokens = 0, usedTokens } = session.contextUsage ?? {};
  expect(maxTokens).toBeGreaterThan(usedTokens ?? Number.POSITIVE_INFINITY);
});

it('streams text to viewers of the stage only, under the id of the stored entry, and follows the task list of a model that keeps one', async () => {
  const { client, startStage } = await createKit();
  const { stage } = await client.command('create_stage', {
    projectId: 'shop',
    title: 'A',
    prompt: prompt({ steps: [{ text: 'One two three four five', chunkChars: 4 }] }),
  });
  await client.command('watch', { stageIds: [stage.id] });
  await client.command('start_stage', { stageId: stage.id });
  await client.state(stage.id, 'idle');
  const entry = (await client.transcript(stage.id)).find(({ kind }) => kind === 'text');
  const streamed = client.deltas.filter((delta) => entry?.kind === 'text' && delta.blockId === entry.blockId);
  expect(streamed.map(({ text }) => text).join('')).toBe('One two three four five');
  expect(streamed.length).toBeGreaterThan(3);

  // Of a stage that nobody watches no text is streamed. Its model keeps a task list.
  const task = (name: string, input: Record<string, unknown>) => ({ name, input });
  const steps = [
    { tools: ['Form', 'Test', 'Docs'].map((subject) => task('TaskCreate', { subject, description: subject })) },
    { tools: [task('TaskUpdate', { taskId: '1', status: 'completed' })] },
    { tools: [task('TaskUpdate', { taskId: '2', status: 'in_progress', subject: 'Test it' })] },
    { tools: [task('TaskUpdate', { taskId: '3', status: 'deleted' })] },
    { text: 'Two are left.' },
  ];
  const other = await startStage(prompt({ steps }), { model: 'claude-sonnet-4-5' });
  await client.state(other, 'idle');
  const { session } = await client.command('get_session', { stageId: other });
  expect(session.todos).toEqual([
    { id: '1', content: 'Form', status: 'completed' },
    { id: '2', content: 'Test it', status: 'in_progress' },
  ]);
  expect(client.deltas.every(({ stageId }) => stageId === stage.id)).toBe(true);
});

it('explains that the API is overloaded, continues after a failed turn with the next message, and after the end of an idle process', async () => {
  const { client, startStage, endIdle } = await createKit();
  const overloaded = { status: 529, type: 'overloaded_error', message: 'Overloaded', times: 1 };
  const stageId = await startStage(prompt({ steps: [{ text: 'There.', error: overloaded }] }));
  await client.state(stageId, 'idle');
  const retry = (await client.transcript(stageId)).find((entry) => entry.kind === 'notice');
  expect(retry).toMatchObject({ code: 'api-retry', text: expect.stringContaining('overloaded (529)') });
  const refused = { status: 403, type: 'permission_error', message: 'No access' };
  await client.command('send_message', { stageId, message: prompt({ steps: [{ error: refused }] }) });
  await client.event('session-updated', ({ lastTurn }) => lastTurn?.outcome === 'failed');
  expect((await client.command('get_stage', { stageId })).stage.column).toBe('needs-you');
  const end = (await client.transcript(stageId)).at(-1);
  expect(end).toMatchObject({ kind: 'turn-end', outcome: 'failed', message: expect.stringContaining('403') });
  await client.command('send_message', { stageId, message: said('Better.') });
  const session = async () => (await client.command('get_session', { stageId })).session;
  await expect.poll(session).toMatchObject({ state: 'idle', lastTurn: { outcome: 'succeeded' } });

  // An idle process ends to free its memory, and the next message resumes the conversation.
  await endIdle();
  await client.state(stageId, 'ended');
  expect((await client.command('get_stage', { stageId })).stage.column).toBe('review');
  await client.command('send_message', { stageId, message: said('Second.') });
  await client.state(stageId, 'idle');
});

itAll(
  'shows the work, text, thinking and requests of subagents under the call that started them, even after the turn',
  async () => {
    const { client, startStage } = await createKit();
    const touch = { name: 'Bash', input: { command: 'touch child.txt', description: 'Make it' } };
    const child = prompt({ steps: [{ tools: [touch] }, { text: 'Child done.' }] }, 'Do the part');
    const agent = {
      name: 'Agent',
      input: { description: 'the tests', prompt: child, subagent_type: 'general-purpose' },
    };
    const stageId = await startStage(prompt({ steps: [{ tools: [agent] }, { text: 'Started it.' }] }));
    const asked = await client.event('approval-requested');
    expect(asked.agent).toBe('the tests');
    await client.event('session-updated', ({ lastTurn }) => lastTurn !== null);
    await client.command('approve_tool', { stageId, requestId: asked.requestId, decision: 'allow' });
    await client.state(stageId, 'idle');
    const entries = await client.transcript(stageId);
    const call = entries.find((entry) => entry.kind === 'tool-use' && entry.toolName === 'Agent');
    const callId = call?.kind === 'tool-use' ? call.toolUseId : '';
    const inner = entries.find((entry) => entry.kind === 'tool-use' && entry.toolName === 'Bash');
    expect(inner?.parentToolUseId).toBe(callId);

    // The parent waits for this one, whose text and thinking are shown.
    const counting = prompt({ steps: [{ thinking: 'How many?', text: 'I count them.', tools: [] }] }, 'Count them');
    const waited = {
      description: 'count',
      prompt: counting,
      subagent_type: 'general-purpose',
      run_in_background: false,
    };
    await client.command('send_message', {
      stageId,
      message: prompt({ steps: [{ tools: [{ name: 'Agent', input: waited }] }, { text: 'Counted.' }] }),
    });
    const isCounted = (entry: TranscriptEntry) => entry.kind === 'text' && entry.text === 'Counted.';
    await expect.poll(async () => (await client.transcript(stageId)).some(isCounted)).toBe(true);
    const later = (await client.transcript(stageId)).slice(entries.length);
    const waitedFor = later.find((entry) => entry.kind === 'tool-use');
    const within = later.filter((entry) => entry.parentToolUseId === waitedFor?.toolUseId);
    expect(within.map((entry) => entry.kind)).toEqual(['thinking', 'text']);
  },
);

itAll('does not send a held message when it ends an idle process', async () => {
  const { client, startStage, endIdle } = await createKit({ isEmulated: true });
  const bash = { name: 'Bash', input: { command: 'true', description: 'Do it' } };
  const stageId = await startStage(prompt({ steps: [{ tools: [bash] }] }));
  await client.event('approval-requested');
  await client.command('send_message', { stageId, message: 'go on' });
  await client.command('interrupt', { stageId });
  await client.event('session-updated', ({ state, queueHeld }) => state === 'idle' && queueHeld);
  await endIdle();
  const { session } = await client.command('get_session', { stageId });
  expect(session).toMatchObject({ state: 'ended', queue: [{ text: 'go on' }] });
});

itAll('keeps what Claude Code offers: for its stage, its project, and the rest of the board', async () => {
  const { client, startStage, repo } = await createKit();
  const ask = async (wanted: Record<string, unknown>) => {
    const { capabilities, from } = await client.command('get_capabilities', wanted);
    const names = capabilities?.commands.map(({ name }) => name) ?? [];
    return { from, greets: names.includes('greet'), compacts: names.includes('compact'), capabilities };
  };
  expect(await ask({})).toMatchObject({ from: null, capabilities: null });
  await mkdir(join(repo, '.claude', 'commands'), { recursive: true });
  const greet = '---\ndescription: Greets someone\nargument-hint: <name>\n---\nSay hello to $ARGUMENTS.\n';
  await writeFile(join(repo, '.claude', 'commands', 'greet.md'), greet);
  await git(repo, 'add', '.');
  await git(repo, 'commit', '--quiet', '--no-gpg-sign', '-m', 'A command');
  const stageId = await startStage(said('First.'));
  await client.state(stageId, 'idle');

  const own = await ask({ stageId });
  expect(own).toMatchObject({ from: 'stage', greets: true, compacts: true });
  expect(own.capabilities?.commands.find(({ name }) => name === 'greet')).toMatchObject({
    description: expect.stringContaining('Greets someone'),
    argumentHint: '<name>',
    isBuiltIn: false,
  });
  expect(own.capabilities?.models.find(({ value }) => value === 'sonnet')?.efforts).toContain('high');
  expect(await ask({ projectId: 'shop' })).toMatchObject({ from: 'project', greets: true });
  expect(await ask({})).toMatchObject({ from: 'installation', greets: false, compacts: true });
  await expect(ask({ stageId: 'STAGE-99' })).rejects.toMatchObject({ code: 'unknown_stage' });
});

it('says of a call that an interrupt ended that it was stopped, not that somebody refused it', async () => {
  const { client, startStage } = await createKit();
  const call = (command: string) => ({ tools: [{ name: 'Bash', input: { command, description: command } }] });
  const end = { text: 'I stopped.' };
  const stageId = await startStage(prompt({ steps: [call('touch started; sleep 60'), end] }));
  const first = await client.event('approval-requested');
  await client.command('approve_tool', { stageId, requestId: first.requestId, decision: 'allow' });
  const { stage } = await client.command('get_stage', { stageId });
  const started = join(stage.worktree?.path ?? '', 'started');
  await expect.poll(() => existsSync(started)).toBe(true);
  const results = async () =>
    (await client.transcript(stageId)).flatMap((entry) =>
      entry.kind === 'tool-result' ? [{ stopped: entry.stopped, text: entry.text }] : [],
    );
  const lastTurn = async () => {
    const { session } = await client.command('get_session', { stageId });
    return [session.state, session.lastTurn?.outcome];
  };
  await client.command('interrupt', { stageId });
  const running = { stopped: 'running', text: 'Stopped while it ran. What it had done by then stands.' };
  await expect.poll(results).toEqual([running]);
  await expect.poll(lastTurn).toEqual(['idle', 'interrupted']); // a message before that waits: the interrupt holds the queue

  await client.command('send_message', { stageId, message: prompt({ steps: [call('touch asked'), end] }) });
  await client.event('approval-requested', ({ input }) => input.command === 'touch asked');
  await client.command('interrupt', { stageId });
  const before = { stopped: 'before', text: 'Stopped before it ran. Nothing was done.' };
  await expect.poll(results).toEqual([running, before]);
  await expect.poll(lastTurn).toEqual(['idle', 'interrupted']);

  await client.command('send_message', { stageId, message: prompt({ steps: [call('touch again'), end] }) });
  const { requestId } = await client.event('approval-requested', ({ input }) => input.command === 'touch again');
  const deny = { stageId, requestId, decision: 'deny', interrupt: true, reason: 'No.' };
  await client.command('approve_tool', deny);
  await expect.poll(async () => (await results()).length).toBe(3);
  expect((await results())[2]).toMatchObject({ stopped: undefined });
});
