import { prompt } from '@callboard/scripted-model';
import { expect, it } from 'vitest';
import { createKit } from '../support/kit.ts';

const inBackground = (command: string, description: string) => ({
  tools: [{ name: 'Bash', input: { command, description, run_in_background: true } }],
});
const asks = { tools: [{ name: 'Bash', input: { command: 'touch asked', description: 'Wait for a person' } }] };

it('raises no alarm when a background command ends while a turn waits for a person', async () => {
  const { client, startStage } = await createKit();
  const steps = [inBackground('echo short', 'Be quick'), asks, { text: 'Done.' }];
  const stageId = await startStage(prompt({ steps }));
  const { requestId } = await client.event('approval-requested');
  await client.event('session-updated', ({ backgroundTasks }) => backgroundTasks.length === 1);
  await client.event('session-updated', ({ backgroundTasks }) => backgroundTasks.length === 0);
  await client.command('approve_tool', { stageId, requestId, decision: 'allow' });
  await client.state(stageId, 'idle');
  const { session } = await client.command('get_session', { stageId });
  expect(session).toMatchObject({ alarm: null, lastTurn: { outcome: 'succeeded' } });
});
