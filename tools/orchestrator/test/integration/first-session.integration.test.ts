import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { prompt } from '@callboard/scripted-model';
import { expect, it } from 'vitest';
import { createKit } from '../support/kit.ts';
import { withoutGaps } from '../support/without-gaps.ts';

it('runs a stage that asks for permission, gets it, and runs to its end', async () => {
  const { client, startStage, repo } = await createKit();
  const touch = { name: 'Bash', input: { command: 'touch made.txt', description: 'Make a file' } };
  const stageId = await startStage(
    prompt({ steps: [{ text: 'I make a file.', tools: [touch] }, { text: 'All done.' }] }, 'Make it'),
  );
  const asked = await client.event('approval-requested');
  expect(asked).toMatchObject({ stageId, toolName: 'Bash', kind: 'approval', input: { command: 'touch made.txt' } });
  await client.state(stageId, 'waiting');
  const reply = await client.command('approve_tool', { stageId, requestId: asked.requestId, decision: 'allow' });
  expect(reply).toMatchObject({ decision: { outcome: 'allowed', by: 'Ada', delivery: 'confirmed' } });
  await client.state(stageId, 'idle');
  const { stage } = await client.command('get_stage', { stageId });
  expect(stage.column).toBe('review');
  await access(join(stage.worktree?.path ?? '', 'made.txt'));
  await expect(access(join(repo, 'made.txt'))).rejects.toThrow();
  const kinds = withoutGaps(await client.transcript(stageId)).map((entry) => entry.kind);
  expect(kinds).toEqual(['user', 'text', 'tool-use', 'decision', 'tool-result', 'text', 'turn-end']);
});
