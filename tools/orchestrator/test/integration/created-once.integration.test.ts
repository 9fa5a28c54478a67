/** Stages that are created under an id of the client's choice, when Callboard is killed before it replies. */

import { randomUUID } from 'node:crypto';
import { prompt } from '@callboard/scripted-model';
import { expect, it } from 'vitest';
import { createKit } from '../support/kit.ts';

it('creates a stage or a fork once that is sent again after a kill at the moment it was stored', async () => {
  const kit = await createKit({ where: 'apart' });
  const idsNow = async () => (await kit.client.command('get_board')).stages.map(({ id }) => id).toSorted();

  /** Sends, kills Callboard when the event tells that the stage is stored, and sends the same again. */
  async function twice(send: () => Promise<{ stage: { id: string; title: string } }>, title: string) {
    const reply = send().catch(() => undefined);
    const { stageId } = await kit.client.event('stage-created', ({ stage }) => stage.title === title);
    await kit.kill();
    await reply;
    await kit.start('apart');
    expect((await send()).stage).toMatchObject({ id: stageId, title });
    expect((await send()).stage.id).toBe(stageId);
    return stageId;
  }

  const creationId = randomUUID();
  const fields = { projectId: 'shop', title: 'Login form', prompt: prompt({ steps: [{ text: 'Done.' }] }), creationId };
  const stageId = await twice(() => kit.client.command('create_stage', fields), 'Login form');
  expect(await idsNow()).toEqual([stageId]);

  await kit.client.command('start_stage', { stageId });
  await kit.client.state(stageId, 'idle');
  const asFork = { stageId, title: 'Another way', creationId: randomUUID() };
  const forkId = await twice(() => kit.client.command('fork_stage', asFork), 'Another way');
  expect(await idsNow()).toEqual([stageId, forkId].toSorted());
  // A creation under an id is not the same as another under none.
  const { stage } = await kit.client.command('fork_stage', { stageId, title: 'A third' });
  expect(await idsNow()).toEqual([stageId, forkId, stage.id].toSorted());
});
