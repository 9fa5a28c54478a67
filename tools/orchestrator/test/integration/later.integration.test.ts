import { prompt } from '@callboard/scripted-model';
import { expect, it } from 'vitest';
import { createKit } from '../support/kit.ts';

const touch = { name: 'Bash', input: { command: 'touch made.txt', description: 'Write it' } };

it('keeps a request set aside over a restart, until it is decided', async () => {
  const kit = await createKit({ isEmulated: true });
  const stageId = await kit.startStage(prompt({ steps: [{ tools: [touch] }, { text: 'Done.' }] }));
  const { requestId } = await kit.client.event('approval-requested');
  await kit.client.command('set_later', { requestId });
  await kit.client.command('update_me', { presentation: 'panel' });
  await kit.stop();
  await kit.start();

  const later = [{ stageId, requestId, until: null }];
  const { me } = await kit.client.command('get_board');
  expect(me).toMatchObject({ presentation: 'panel', later });
  expect(await kit.client.command('get_pending')).toMatchObject({ pending: [{ requestId }], later });
  await kit.client.command('approve_tool', { stageId, requestId, decision: 'allow' });
  await kit.client.state(stageId, 'idle');
  expect(await kit.client.command('get_pending')).toEqual({ pending: [], later: [] });
  expect((await kit.client.command('get_board')).me.later).toEqual([]);
});
