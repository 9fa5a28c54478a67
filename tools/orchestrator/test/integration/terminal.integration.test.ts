import { execFile, spawn } from 'node:child_process';
import { promisify } from 'node:util';
import { prompt } from '@callboard/scripted-model';
import { expect, it, onTestFinished } from 'vitest';
import { REAL_CLAUDE } from '../../../../test-support/real-claude.ts';
import { createKit, type Kit } from '../support/kit.ts';

const run = promisify(execFile);
const OPEN = ['--input-format=stream-json', '--output-format=stream-json', '--verbose'];
const says = (message: string, text: string) => prompt({ steps: [{ text }] }, message);

/** Says something in a conversation with the real `claude`, as a person does in a terminal. */
async function talk({ env }: Kit, cwd: string, conversationId: string, text: string): Promise<void> {
  const claude = run(REAL_CLAUDE, ['-p', '--resume', conversationId, text], { cwd, env });
  claude.child.stdin?.end();
  await claude;
}

/** Opens a conversation again, and leaves its `claude` waiting for a message. Returns how to end it. */
function leaveOpen({ env }: Kit, cwd: string, conversationId: string): () => Promise<void> {
  const child = spawn(REAL_CLAUDE, ['-p', '--resume', conversationId, ...OPEN], {
    cwd,
    env,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  child.once('exit', () => resolve());
  const end = async () => {
    child.kill('SIGKILL');
    await promise;
  };
  onTestFinished(end);
  return end;
}

it('leaves a conversation to a terminal through a kill, and goes on with what was said there', async () => {
  const kit = await createKit({ where: 'apart' });
  const stageId = await kit.startStage(says('Mend the login', 'Mended.'));
  await kit.client.state(stageId, 'idle', { withinMs: 30_000 });
  const { stage } = await kit.client.command('get_stage', { stageId });
  const path = stage.worktree?.path ?? '';
  const conversationId = stage.session?.sessionId ?? '';

  // Killed as soon as the mark is stored: the process is ended by the next start, which begins no other.
  const unanswered = kit.client.command('continue_in_terminal', { stageId });
  unanswered.catch(() => undefined);
  await kit.client.event('session-updated', (data) => data.stageId === stageId && data.terminal !== null);
  await kit.kill();
  await kit.start();
  await kit.client.state(stageId, 'ended', { withinMs: 30_000 });
  const left = await kit.client.command('continue_in_terminal', { stageId });
  expect(left.command).toBe(`cd ${path} && claude --resume ${conversationId}`);
  expect((await kit.client.command('get_stage', { stageId })).stage).toMatchObject({
    column: 'running',
    session: { launchId: null, terminal: left.terminal },
  });

  await talk(kit, path, conversationId, says('And the logout', 'Mended in the terminal.'));
  const endIt = leaveOpen(kit, path, conversationId);
  const withdraw = () => kit.client.command('take_back', { stageId });
  await expect
    .poll(() => withdraw().catch((error: { code: string }) => error.code), { timeout: 20_000 })
    .toBe('in_terminal');
  const send = (message: string) => kit.client.command('send_message', { stageId, message });
  expect(await send(says('Now test it', 'Tested.'))).toMatchObject({ status: 'queued' });
  for (const command of ['start_stage', 'complete_stage', 'remove_stage', 'stop_stage'] as const)
    await expect(kit.client.command(command, { stageId })).rejects.toMatchObject({ code: 'in_terminal' });

  await endIt();
  expect(await withdraw()).toEqual({ status: 'resumed' });
  await kit.client.event('session-updated', (data) => data.stageId === stageId && data.terminal === null);
  await kit.client.state(stageId, 'idle', { withinMs: 30_000 });
  const entries = (await kit.client.transcript(stageId)).flatMap((entry) =>
    entry.kind === 'user' || entry.kind === 'text' ? [entry.text.split('\n')[0]] : [],
  );
  expect(entries).toEqual([
    expect.stringContaining('Mend the login'),
    'Mended.',
    expect.stringContaining('And the logout'),
    'Mended in the terminal.',
    expect.stringContaining('Now test it'),
    'Tested.',
  ]);
  const known = JSON.stringify(kit.model.requests.at(-1)?.messages);
  expect(known).toContain('And the logout');
  expect((await kit.client.command('get_stage', { stageId })).stage).toMatchObject({
    column: 'review',
    session: { sessionId: conversationId, queued: 0 },
  });
});
