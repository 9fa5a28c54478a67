import { prompt } from '@callboard/scripted-model';
import { expect, it } from 'vitest';
import { itAll } from '../../../../test-support/it-all.ts';
import { createKit } from '../support/kit.ts';

/** Starts a stage, and returns while its process is being launched. */
async function starting() {
  const { client } = await createKit();
  const said = prompt({ steps: [{ text: 'Hi.' }] });
  const { stage } = await client.command('create_stage', { projectId: 'shop', title: 'A', prompt: said });
  const started = client.command('start_stage', { stageId: stage.id });
  await client.state(stage.id, 'starting');
  return { client, stageId: stage.id, started };
}

it('keeps a mode and a model chosen during the start', async () => {
  const { client, stageId, started } = await starting();
  await client.command('set_mode', { stageId, mode: 'acceptEdits' });
  await client.command('set_model', { stageId, model: 'haiku' });
  await started;
  await client.state(stageId, 'idle');
  const { session } = await client.command('get_session', { stageId });
  expect(session.mode).toBe('acceptEdits');
  const { stage } = await client.command('get_stage', { stageId });
  expect(stage.model).toBe('haiku');
});

itAll('stops a session during its start', async () => {
  const { client, stageId, started } = await starting();
  started.catch(() => undefined); // it may never come up
  await client.command('stop_stage', { stageId });
  await client.state(stageId, 'ended');
});
