import { prompt } from '@callboard/scripted-model';
import { expect, it } from 'vitest';
import { createKit } from '../support/kit.ts';

it('accepts a mode for the next start as soon as a session has ended, while its remaining processes are still being stopped', async () => {
  const kit = await createKit({ limits: { graces: { interruptMs: 30_000, endSessionMs: 30_000, signalMs: 3_000 } } });
  const { client } = kit;
  const command = `nohup sh -c 'trap "" TERM; while :; do sleep 1; done' >/dev/null 2>&1 &`;
  const tools = [{ name: 'Bash', input: { command, description: 'Leave it' } }];
  const stageId = await kit.startStage(prompt({ steps: [{ tools }, { text: 'Done.' }] }));
  const { requestId } = await client.event('approval-requested');
  await client.command('approve_tool', { stageId, requestId, decision: 'allow' });
  await client.state(stageId, 'idle');
  const stopped = client.command('stop_stage', { stageId });
  await client.state(stageId, 'ended');
  await client.command('set_mode', { stageId, mode: 'acceptEdits' });
  expect((await client.command('get_session', { stageId })).session.mode).toBe('acceptEdits');
  await stopped;
});
