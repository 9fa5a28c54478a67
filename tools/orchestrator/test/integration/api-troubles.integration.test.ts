import { named, prompt } from '@callboard/scripted-model';
import { expect, it } from 'vitest';
import { createKit } from '../support/kit.ts';

const STORAGE_ERRORS = [
  ['a refused login', { error: { status: 401, times: 1 } }, /rejected the login \(401\).*attempt 1/],
  [
    'a rate limit',
    { error: { status: 429, times: 1, retryAfterSeconds: 1 } },
    /rate limit is reached \(429\).*attempt 1/,
  ],
  ['no answer', { cut: 'before' as const, cutTimes: 1 }, /could not be reached.*attempt 1/],
] as const;

it('reports that Claude Code retries after a refused login, a rate limit and no answer, and continues each time', async () => {
  const { client, startStage } = await createKit();
  const stageId = await startStage(prompt({ steps: [{ text: 'Here I am.' }] }));
  await client.state(stageId, 'idle');
  for (const [what, storageError, text] of STORAGE_ERRORS) {
    const before = (await client.transcript(stageId)).length;
    const script = prompt({ steps: [{ text: `Here after ${what}.`, ...storageError }] });
    await client.command('send_message', { stageId, message: script });
    const updates = async () => (await client.transcript(stageId)).slice(before);
    await expect.poll(async () => (await updates()).map(({ kind }) => kind)).toContain('turn-end');
    expect(await updates()).toContainEqual(
      expect.objectContaining({ kind: 'notice', code: 'api-retry', text: expect.stringMatching(text) }),
    );
    expect(await updates()).toContainEqual(expect.objectContaining({ kind: 'text', text: `Here after ${what}.` }));
  }
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
