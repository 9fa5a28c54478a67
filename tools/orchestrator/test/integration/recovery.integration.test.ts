import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { prompt } from '@callboard/scripted-model';
import { expect, it } from 'vitest';
import { findMarkedProcesses } from '../../src/platform/process-table.ts';
import { gitThat } from '../support/git-that-dies.ts';
import { createKit, untilConfirmed } from '../support/kit.ts';
import { livingProcess } from '../support/living-process.ts';

const bash = (command: string) => ({ name: 'Bash', input: { command, description: 'Do it' } });
const said = (text: string) => prompt({ steps: [{ text }] });

it('ends a process that does not react to an interrupt, and resumes its session', async () => {
  const kit = await createKit({ limits: { graces: { interruptMs: 300, endSessionMs: 300, signalMs: 3_000 } } });
  const stageId = await kit.startStage(said('First.'));
  await kit.client.state(stageId, 'idle');
  const seen = kit.model.requests.length;
  await kit.client.command('send_message', { stageId, message: prompt({ steps: [{ text: 'never', gate: 'shut' }] }) });
  await expect.poll(() => kit.model.requests.length).toBeGreaterThan(seen);
  process.kill((await livingProcess(kit, stageId)).pid, 'SIGSTOP');
  const { session } = await kit.client.command('interrupt', { stageId });
  expect(session).toMatchObject({ state: 'ended', lastTurn: { outcome: 'interrupted' } });
  await kit.client.command('send_message', { stageId, message: said('Back again.') });
  const back = async () =>
    (await kit.client.transcript(stageId)).some((entry) => entry.kind === 'text' && entry.text === 'Back again.');
  await expect.poll(back).toBe(true);
});

it('ends Bash commands that outlive their claude', async () => {
  const kit = await createKit();
  const steps = [{ tools: [bash('touch started; sleep 300')] }, { text: 'Done.' }];
  const stageId = await kit.startStage(prompt({ steps }));
  const { requestId } = await kit.client.event('approval-requested');
  const { pid } = await livingProcess(kit, stageId);
  await kit.client.command('approve_tool', { stageId, requestId, decision: 'allow' });
  const { launchId } = (await kit.client.command('get_session', { stageId })).session;
  const marked = async () => (await findMarkedProcesses()).get(launchId ?? '') ?? [];
  await expect.poll(async () => (await marked()).length).toBeGreaterThan(1);
  process.kill(pid, 'SIGKILL');
  await expect.poll(marked).toEqual([]);
});

it('continues a session whose folder was deleted', async () => {
  const kit = await createKit({ where: 'apart' });
  const stageId = await kit.startStage(prompt({ steps: [{ tools: [bash('touch made.txt')] }, { text: 'Done.' }] }));
  const { requestId } = await kit.client.event('approval-requested');
  await kit.kill();
  await rm(join(kit.dataDir, 'sessions'), { recursive: true });
  await kit.start();
  await kit.client.command('approve_tool', { stageId, requestId, decision: 'allow' });
  await untilConfirmed(kit, requestId);
  await kit.client.state(stageId, 'idle');
});

it('starts nothing in a deleted worktree, and makes it again from its branch for a person', async () => {
  const kit = await createKit();
  const stageId = await kit.startStage(said('First.'));
  await kit.client.state(stageId, 'idle');
  await kit.client.command('stop_stage', { stageId });
  const { stage } = await kit.client.command('get_stage', { stageId });
  await rm(stage.worktree?.path ?? '', { recursive: true });
  await kit.client.command('send_message', { stageId, message: said('Second.') });
  await kit.client.state(stageId, 'failed');
  await kit.client.command('remake_worktree', { stageId });
  await kit.client.command('start_stage', { stageId });
  const second = async () =>
    (await kit.client.transcript(stageId)).some((entry) => entry.kind === 'text' && entry.text === 'Second.');
  await expect.poll(second).toBe(true);
  expect(await readFile(join(stage.worktree?.path ?? '', 'README.md'), 'utf8')).toBe('# Shop\n');
});

it('shows git’s error text when a worktree cannot be created, and creates it at the second attempt', async () => {
  const kit = await createKit();
  await kit.stop();
  const path = kit.env.PATH ?? '';
  kit.env.PATH = await gitThat(kit.folder, path, 'worktree add', 'echo "fatal: out of luck" >&2; exit 128');
  await kit.start();
  await expect(kit.startStage(said('Made.'))).rejects.toMatchObject({
    code: 'worktree_failed',
    message: expect.stringContaining('out of luck'),
  });
  const [stage] = (await kit.client.command('get_board')).stages;
  expect(stage).toMatchObject({
    column: 'needs-you',
    session: { state: 'failed', lastTurn: { message: expect.stringContaining('out of luck') } },
  });
  await kit.stop();
  kit.env.PATH = path;
  await kit.start();
  await kit.client.command('start_stage', { stageId: stage?.id });
  await kit.client.state(stage?.id ?? '', 'idle');
});

it('reports that a conversation cannot be resumed, and starts over with the stage’s prompt', async () => {
  const kit = await createKit();
  const stageId = await kit.startStage(said('First.'));
  await kit.client.state(stageId, 'idle');
  await kit.client.command('stop_stage', { stageId });
  await rm(join(kit.env.HOME ?? '', '.claude', 'projects'), { recursive: true });
  await kit.client.command('send_message', { stageId, message: said('Second.') });
  await kit.client.state(stageId, 'failed');
  const notice = (await kit.client.transcript(stageId)).find(
    (entry) => entry.kind === 'notice' && entry.code === 'conversation-lost',
  );
  expect(notice).toBeDefined();
  expect((await kit.client.command('get_queue', { stageId })).queue).toHaveLength(2);
  await kit.client.command('start_stage', { stageId });
  const texts = async () =>
    (await kit.client.transcript(stageId)).flatMap((entry) => (entry.kind === 'text' ? entry.text : []));
  await expect.poll(texts).toEqual(['First.', 'First.', 'Second.']);
});

it('asks for attention when a working session is silent for long, and stops asking at its next output', async () => {
  const kit = await createKit({ attentionAfterMinutes: 0.4 / 60, limits: { watchdogCheckIntervalMs: 50 } });
  const stageId = await kit.startStage(prompt({ steps: [{ text: 'At last.', gate: 'go' }] }));
  await kit.client.event('session-updated', ({ stalledSince }) => stalledSince !== null);
  // On a busy machine it may be silent even before it has begun, and be heard again.
  const column = async () => (await kit.client.command('get_stage', { stageId })).stage.column;
  await expect.poll(column).toBe('needs-you');
  kit.model.release('go');
  await kit.client.event('session-updated', ({ stalledSince, state }) => stalledSince === null && state === 'idle');
});

/** The real `claude`, whose first request to a person is lost on the way. */
async function claudeThatLosesARequest(folder: string, claude: string): Promise<string> {
  const path = join(folder, 'claude-that-loses-a-request.mjs');
  const program = `#!/usr/bin/env node
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
const child = spawn(${JSON.stringify(claude)}, process.argv.slice(2), { stdio: ['inherit', 'pipe', 'inherit'] });
child.on('exit', (code) => process.exit(code ?? 1));
let isLost = false;
for await (const line of createInterface({ input: child.stdout })) {
  if (isLost || !line.startsWith('{"type":"control_request"')) process.stdout.write(line + '\\n');
  else isLost = true;
}`;
  await writeFile(path, program, { mode: 0o700 });
  return path;
}

it('asks a silent session for its open requests, which recovers a lost one', async () => {
  const kit = await createKit({ attentionAfterMinutes: 0.4 / 60, limits: { watchdogCheckIntervalMs: 50 } });
  kit.config.claudePath = await claudeThatLosesARequest(kit.folder, kit.config.claudePath ?? '');
  await kit.stop();
  await kit.start();
  const bash = { name: 'Bash', input: { command: 'touch made.txt', description: 'Make it' } };
  const stageId = await kit.startStage(prompt({ steps: [{ tools: [bash] }, { text: 'Said after.' }] }));
  const { requestId } = await kit.client.event('approval-requested');
  await kit.client.command('approve_tool', { stageId, requestId, decision: 'allow' });
  await kit.client.state(stageId, 'idle');
  expect((await kit.client.command('get_session', { stageId })).session).toMatchObject({ stalledSince: null });
});

it('shows the CLI’s error text when it does not start', async () => {
  const kit = await createKit();
  const start = kit.startStage(said('x'), { permissionMode: 'bypassPermissions' });
  if (process.getuid?.() === 0) {
    await expect(start).rejects.toMatchObject({
      code: 'launch_failed',
      message: expect.stringMatching(/root|permission/i),
    });
  } else {
    await start;
  }
});
