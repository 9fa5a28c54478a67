import { prompt } from '@callboard/scripted-model';
import { expect, it } from 'vitest';
import { readRow } from '../../src/platform/process-table.ts';
import { createKit, type Kit } from '../support/kit.ts';
import { livingProcess } from '../support/living-process.ts';

const parentOf = async (kit: Kit, stageId: string) =>
  (await readRow((await livingProcess(kit, stageId)).pid))?.parent ?? 0;
const says = (text: string) => prompt({ steps: [{ text }] });

it('starts sessions outside its own process, and both continue when the process that started them is killed', async () => {
  const kit = await createKit({ isEmulated: true });
  const { client } = kit;
  const stageId = await kit.startStage(says('First.'));
  await client.state(stageId, 'idle');
  const spawner = await parentOf(kit, stageId);
  expect(spawner).not.toBe(process.pid);

  process.kill(spawner, 'SIGKILL');
  await client.command('send_message', { stageId, message: says('Second.') });
  const texts = async () => (await client.transcript(stageId)).flatMap((one) => (one.kind === 'text' ? one.text : []));
  await expect.poll(texts).toEqual(['First.', 'Second.']);
  const other = await kit.startStage(says('Other.'));
  await client.state(other, 'idle');
  expect([spawner, process.pid]).not.toContain(await parentOf(kit, other));

  // The first session's end is detected without an exit event.
  process.kill((await livingProcess(kit, stageId)).pid, 'SIGKILL');
  await client.state(stageId, 'ended');
});
