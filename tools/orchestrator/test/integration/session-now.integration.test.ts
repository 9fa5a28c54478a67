import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { prompt } from '@callboard/scripted-model';
import { expect, it } from 'vitest';
import { itAll } from '../../../../test-support/it-all.ts';
import { createKit } from '../support/kit.ts';

const TEXTS = 'The index is built from the titles of all pages. ';
const WAITS = 'touch begun; until [ -e go ]; do sleep 0.1; done';

it('tells what Claude does at each moment: a running command, the end of its text, a call that it writes, and nothing afterwards', async () => {
  const { client, startStage } = await createKit();
  const run = { name: 'Bash', input: { command: WAITS, description: 'Wait' } };
  const write = { name: 'Write', input: { file_path: 'index.md', content: 'x'.repeat(400) } };
  const slow = { text: TEXTS.repeat(4), tools: [write], chunkChars: 16, chunkDelayMs: 150 };
  const stageId = await startStage(prompt({ steps: [{ tools: [run] }, slow, { text: 'Done.' }] }));
  const now = async () => (await client.command('get_session', { stageId })).session.now;

  const asked = await client.event('approval-requested', ({ toolName }) => toolName === 'Bash');
  expect(await now()).toBeNull();
  await client.command('approve_tool', { stageId, requestId: asked.requestId, decision: 'allow' });
  const { worktree } = (await client.command('get_stage', { stageId })).stage;
  await expect.poll(now).toMatchObject({ kind: 'tool', action: WAITS, isCommand: true });
  await writeFile(join(worktree?.path ?? '', 'go'), '');

  const reported = (kind: string) => client.nows.filter(({ now: is }) => is?.kind === kind);
  const prepared = () => client.nows.flatMap(({ now: is }) => (is?.kind === 'preparing' ? [is.toolName] : []));
  await expect.poll(() => reported('writing').length).toBeGreaterThan(0);
  const [first] = reported('writing');
  expect(first?.now?.kind === 'writing' && TEXTS.repeat(4).includes(first.now.text)).toBe(true);
  await expect.poll(prepared).toContain('Write'); // and of Bash, if its call was seen being written
  const board = await client.command('get_board');
  expect(board.stages.find(({ id }) => id === stageId)?.session?.now).toMatchObject({ toolName: 'Write' });

  const second = await client.event('approval-requested', ({ toolName }) => toolName === 'Write');
  await client.command('approve_tool', { stageId, requestId: second.requestId, decision: 'allow' });
  await client.state(stageId, 'idle');
  expect(await now()).toBeNull();
  const stored = client.events.flatMap(({ type, data }) => (type === 'session-updated' ? data.now?.kind : []));
  expect(stored).not.toContain('writing');
});

itAll('tells nothing any more when the process has died', async () => {
  const { client, startStage } = await createKit();
  const run = { name: 'Bash', input: { command: WAITS, description: 'Wait' } };
  const stageId = await startStage(prompt({ steps: [{ tools: [run] }] }));
  const asked = await client.event('approval-requested');
  await client.command('approve_tool', { stageId, requestId: asked.requestId, decision: 'allow' });
  const now = async () => (await client.command('get_session', { stageId })).session.now;
  await expect.poll(now).toMatchObject({ kind: 'tool' });
  await client.command('stop_stage', { stageId });
  await client.state(stageId, 'ended');
  expect(await now()).toBeNull();
});
