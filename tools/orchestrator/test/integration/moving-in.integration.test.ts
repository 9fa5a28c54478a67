import { execFile, spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { prompt } from '@callboard/scripted-model';
import { expect, it, onTestFinished } from 'vitest';
import { git } from '../../../../test-support/git.ts';
import { REAL_CLAUDE } from '../../../../test-support/real-claude.ts';
import { conversationFile } from '../support/conversation.ts';
import { createKit, type Kit } from '../support/kit.ts';

const run = promisify(execFile);
const OPEN = ['--input-format=stream-json', '--output-format=stream-json', '--verbose'];

/** Holds a conversation with the real `claude` in a folder, as a person does in a terminal. */
async function talk({ env }: Kit, cwd: string, text: string): Promise<void> {
  const claude = run(REAL_CLAUDE, ['-p', text, '--allowedTools', 'Bash'], { cwd, env });
  claude.child.stdin?.end();
  await claude;
}

/** Opens a conversation again, and leaves its `claude` waiting for a message. */
function leaveOpen({ env }: Kit, cwd: string, conversationId: string): void {
  const child = spawn(REAL_CLAUDE, ['-p', '--resume', conversationId, ...OPEN], {
    cwd,
    env,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  onTestFinished(async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    child.once('exit', () => resolve());
    child.kill('SIGKILL');
    await promise;
  });
}

it('lists conversations from a terminal, and continues one as a stage through kills', async () => {
  const kit = await createKit({ where: 'apart' });
  const { client, repo } = kit;
  const touch = { name: 'Bash', input: { command: 'echo made > made.txt && echo changed >> README.md' } };
  await talk(
    kit,
    repo,
    prompt({ steps: [{ text: 'I make a file.', tools: [touch] }, { text: 'Made.' }] }, 'Mend the login'),
  );
  const { conversations, folders } = await client.command('get_conversations', { projectId: 'shop' });
  expect(conversations).toMatchObject([
    {
      firstWords: expect.stringMatching(/^Mend the login/),
      folder: repo,
      branch: 'main',
      messages: 1,
      isOpen: false,
      name: null,
    },
  ]);
  expect(folders).toEqual([{ folder: repo, branch: 'main', uncommitted: 2 }]);
  const [{ conversationId } = { conversationId: '' }] = conversations;

  leaveOpen(kit, repo, conversationId);
  const isOpen = async () =>
    (await client.command('get_conversations', { projectId: 'shop' })).conversations.map((one) => one.isOpen);
  await expect.poll(isOpen, { timeout: 20_000 }).toEqual([true]);

  const adopt = { projectId: 'shop', conversationId, title: 'Login' };
  const { stage } = await client.command('adopt_conversation', adopt);
  expect(stage).toMatchObject({
    title: 'Login',
    column: 'needs-you',
    worktree: null,
    adopted: { folder: repo, branch: 'main' },
  });
  await expect(client.command('adopt_conversation', adopt)).rejects.toMatchObject({ code: 'conversation_adopted' });
  expect((await client.command('get_conversations', { projectId: 'shop' })).conversations).toEqual([]);
  const before = await client.transcript(stage.id);
  expect(before.map(({ kind }) => kind)).toEqual([
    'user',
    'text',
    'tool-use',
    'tool-result',
    'text',
    'turn-end',
    'notice',
  ]);
  expect(stage.adopted?.lastEntry).toBe(5);

  const original = join(
    kit.env.HOME ?? '',
    '.claude',
    'projects',
    repo.replaceAll(/[^A-Za-z0-9]/g, '-'),
    `${conversationId}.jsonl`,
  );
  const said = await readFile(original, 'utf8');
  await git(repo, 'commit', '--quiet', '--all', '--message', 'Later work in the folder');
  await kit.kill();
  await kit.start();

  await kit.client.command('send_message', {
    stageId: stage.id,
    message: prompt({ steps: [{ text: 'I go on.' }] }, 'Now test it'),
  });
  await kit.client.state(stage.id, 'idle', { withinMs: 30_000 });
  const after = await kit.client.command('get_stage', { stageId: stage.id });
  const path = after.stage.worktree?.path ?? '';
  expect(after.stage).toMatchObject({ column: 'review', origin: { isTaken: true, ref: null } });
  expect(await readFile(join(path, 'made.txt'), 'utf8')).toBe('made\n');
  expect((await run('git', ['-C', path, 'status', '--porcelain'])).stdout).toBe(' M README.md\n?? made.txt\n');
  const request = kit.model.requests.at(-1)?.messages;
  expect(JSON.stringify(request)).toContain('Mend the login');
  expect(await readFile(original, 'utf8')).toBe(said);
  const copy = await conversationFile(kit, stage.id);
  expect(copy).not.toBe(original);
  expect(await readFile(copy, 'utf8')).toContain('Mend the login');
  expect(await kit.client.command('get_receipt', { stageId: stage.id })).toMatchObject({ receipt: { total: 0 } });
});
