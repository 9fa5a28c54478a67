import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { prompt } from '@callboard/scripted-model';
import { expect, it } from 'vitest';
import { createKit } from '../support/kit.ts';
import { withoutGaps } from '../support/without-gaps.ts';

const append = (word: string) => ({
  name: 'Bash',
  input: { command: `echo ${word} >> made.txt`, description: 'Write it' },
});

it('sends an answer that was held back once after a SIGKILL of the orchestrator, and never one that was taken back', async () => {
  const kit = await createKit({ where: 'apart' });
  const steps = [{ tools: [append('first')] }, { tools: [append('second')] }, { text: 'Done.' }];
  const stageId = await kit.startStage(prompt({ steps }));
  const first = await kit.client.event('approval-requested');
  const answer = { stageId, requestId: first.requestId, decision: 'allow', hold: true };
  const reply = await kit.client.command('approve_tool', answer);
  expect(reply).toMatchObject({ heldUntil: expect.any(String) });
  await kit.kill();
  await kit.start('apart');
  // The start may take longer than the answer was held back, so its events may be over.
  const pending = async () => (await kit.client.command('get_pending')).pending.map(({ requestId }) => requestId);
  await expect.poll(pending, { timeout: 15_000 }).toEqual([expect.not.stringMatching(first.requestId)]);
  const { decisions } = await kit.client.command('get_decisions', { stageId });
  expect(decisions).toMatchObject([
    { requestId: first.requestId, outcome: 'allowed', by: 'Ada', delivery: 'confirmed' },
  ]);

  const requestId = (await pending())[0];
  await kit.client.command('approve_tool', { stageId, requestId, decision: 'allow', hold: true });
  await kit.client.command('take_back_answer', { requestId });
  await kit.kill();
  await kit.start('apart');
  const [open] = kit.client.init.data.pending;
  expect(open).toMatchObject({ requestId });
  expect(open).not.toHaveProperty('held');
  await kit.client.command('approve_tool', { stageId, requestId, decision: 'deny', reason: 'Once is enough.' });
  await kit.client.state(stageId, 'idle');

  const { stage } = await kit.client.command('get_stage', { stageId });
  expect(await readFile(join(stage.worktree?.path ?? '', 'made.txt'), 'utf8')).toBe('first\n');
  const kinds = withoutGaps(await kit.client.transcript(stageId)).map((entry) => entry.kind);
  const call = ['tool-use', 'decision', 'tool-result'];
  expect(kinds).toEqual(['user', ...call, ...call, 'text', 'turn-end']);
});
