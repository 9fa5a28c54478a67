import { prompt } from '@callboard/scripted-model';
import { expect, it } from 'vitest';
import { itAll } from '../../../../test-support/it-all.ts';
import { nodePlatform } from '../../src/platform/runtime.ts';
import { createKit, type Kit } from '../support/kit.ts';

const MB = 1_000_000;
const said = (text: string) => prompt({ steps: [{ text }] });
const bash = { name: 'Bash', input: { command: 'touch made.txt', description: 'Make it' } };

/** Creates a kit whose free disk space the test sets. The reply to a "now" message waits for `confirmationMs`. */
async function createKitOnDisk() {
  const disk = { free: 500 * MB };
  const platform = { ...nodePlatform, freeBytes: () => disk.free };
  const kit = await createKit({
    isEmulated: true,
    platform,
    diskReserveMb: 200,
    limits: { diskCheckIntervalMs: 20, confirmationMs: 8_000 },
  });
  const paused = async () => (await kit.client.command('get_board')).paused;
  return { disk, paused, ...kit, kit };
}

const texts = async ({ client }: Kit, stageId: string) =>
  (await client.transcript(stageId)).flatMap((entry) => (entry.kind === 'text' ? entry.text : []));

it('refuses to start a stage below the reserve, and starts stages automatically once there is room', async () => {
  const { disk, client, paused } = await createKitOnDisk();
  disk.free = 120 * MB;
  const { stage } = await client.command('create_stage', {
    projectId: 'shop',
    title: 'Later',
    prompt: said('Started.'),
    autoStart: true,
  });
  await expect(client.command('start_stage', { stageId: stage.id })).rejects.toMatchObject({
    code: 'disk_low',
    message: expect.stringMatching(/120 MB are free.*200 MB/),
  });
  expect((await client.command('get_stage', { stageId: stage.id })).stage).toMatchObject({
    column: 'ready',
    session: null,
  });
  await expect.poll(paused).toContain('120 MB');
  await client.notices(({ paused }) => paused?.includes('120 MB') === true);
  disk.free = 300 * MB;
  await client.notices((notices) => notices.paused === null);
  await client.state(stage.id, 'idle');
});

it('keeps messages queued below the reserve and delivers them automatically later; answers go through', async () => {
  const { disk, client, kit, paused } = await createKitOnDisk();
  const stageId = await kit.startStage(prompt({ steps: [{ tools: [bash] }, { text: 'First.' }] }));
  const { requestId } = await client.event('approval-requested');
  disk.free = 50 * MB;
  const modes = ['append', 'steer', 'now'] as const;
  for (const mode of modes) {
    const sent = await client.command('send_message', { stageId, message: said(`By ${mode}.`), mode });
    expect(sent.status).toBe('queued');
  }
  const reply = await client.command('approve_tool', { stageId, requestId, decision: 'allow' });
  expect(reply).toMatchObject({ decision: { delivery: 'confirmed' } });
  await client.state(stageId, 'idle');
  expect((await client.command('get_queue', { stageId })).queue).toHaveLength(3);
  expect(await paused()).toContain('delivers no messages');
  expect(await texts(kit, stageId)).toEqual(['First.']);
  disk.free = 500 * MB;
  await expect.poll(() => texts(kit, stageId)).toEqual(['First.', 'By now.', 'By append.', 'By steer.']);
});

itAll('resumes an ended session for a message sent below the reserve, even after a restart', async () => {
  const { disk, client, kit } = await createKitOnDisk();
  const stageId = await kit.startStage(said('First.'));
  await client.state(stageId, 'idle');
  await client.command('stop_stage', { stageId });
  disk.free = 50 * MB;
  const sent = await client.command('send_message', { stageId, message: said('Second.') });
  expect(sent.status).toBe('queued');
  expect((await client.command('get_session', { stageId })).session.state).toBe('ended');
  await kit.stop();
  await kit.start();
  expect((await kit.client.command('get_queue', { stageId })).queue).toHaveLength(1);
  disk.free = 500 * MB;
  await expect.poll(() => texts(kit, stageId)).toEqual(['First.', 'Second.']);
});

it('shows a gap in a running session after the disk was full for a while, and continues with the same process', async () => {
  const { disk, client, kit } = await createKitOnDisk();
  const stageId = await kit.startStage(prompt({ steps: [{ tools: [bash] }, { text: 'Done.' }] }));
  const idleId = await kit.startStage(said('Idle.'));
  const { requestId } = await client.event('approval-requested');
  await client.state(idleId, 'idle');
  disk.free = 0;
  await client.notices(({ paused }) => paused !== null);
  disk.free = 500 * MB;
  const gaps = async (id: string) =>
    (await client.transcript(id)).filter((entry) => entry.kind === 'notice' && entry.code === 'output-lost').length;
  await expect.poll(() => gaps(stageId)).toBe(1);
  const reply = await client.command('approve_tool', { stageId, requestId, decision: 'allow' });
  expect(reply).toMatchObject({ decision: { delivery: 'confirmed' } });
  await client.state(stageId, 'idle');
  expect(await gaps(idleId)).toBe(0);
});
