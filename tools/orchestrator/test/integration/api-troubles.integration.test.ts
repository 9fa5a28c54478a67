import { named, prompt } from '@callboard/scripted-model';
import { expect, it } from 'vitest';
import { createKit } from '../support/kit.ts';

it.each([
  ['a refused login', { error: { status: 401, times: 1 } }, /rejected the login \(401\).*attempt 1/],
  [
    'a rate limit',
    { error: { status: 429, times: 1, retryAfterSeconds: 1 } },
    /rate limit is reached \(429\).*attempt 1/,
  ],
  ['no answer', { cut: 'before' as const, cutTimes: 1 }, /could not be reached.*attempt 1/],
])('reports that Claude Code retries after %s, and continues when the retry succeeds', async (_, trouble, words) => {
  const { client, startStage } = await createKit();
  const stageId = await startStage(prompt({ steps: [{ text: 'Here at last.', ...trouble }] }));
  await client.state(stageId, 'idle');
  const entries = await client.transcript(stageId);
  expect(entries).toContainEqual(
    expect.objectContaining({ kind: 'notice', code: 'api-retry', text: expect.stringMatching(words) }),
  );
  expect(entries).toContainEqual(expect.objectContaining({ kind: 'text', text: 'Here at last.' }));
});

it('reads a 6 MB line like a short one', async () => {
  const { client, startStage, model } = await createKit();
  const text = '€'.repeat(2_000_000);
  model.setScript('long', { steps: [{ text }] });
  const stageId = await startStage(named('long', 'At length, please'));
  await client.state(stageId, 'idle');
  const said = (await client.transcript(stageId)).find((entry) => entry.kind === 'text');
  expect(said?.kind === 'text' && said.text === text).toBe(true);
});
