import { isAlive } from '@callboard/runtime/process-identity';
import { prompt } from '@callboard/scripted-model';
import { expect, it } from 'vitest';
import { nodePlatform, type Platform } from '../../src/platform/runtime.ts';
import { untilWritten } from '../support/conversation.ts';
import { createKit, type Kit } from '../support/kit.ts';
import { killProcess, livingProcess, untilIdle } from '../support/living-process.ts';
import { canMount, mountSmallDisk, type SmallDisk } from '../support/small-disk.ts';

const bash = { name: 'Bash', input: { command: 'touch made.txt', description: 'Make it' } };

const workOnSmallDisk = (...steps: Parameters<typeof prompt>[0]['steps']) => workOnDisk(nodePlatform, ...steps);

/** Creates a working session on its own small disk; the session continues its script when the test releases it. */
async function workOnDisk(platform: Platform, ...steps: Parameters<typeof prompt>[0]['steps']) {
  const disk = await mountSmallDisk(16);
  const kit = await createKit({ dataDir: disk.folder, limits: { diskCheckIntervalMs: 50 }, platform });
  const [first, ...others] = steps;
  const stageId = await kit.startStage(prompt({ steps: [{ ...first, gate: 'go' }, ...others] }));
  await kit.model.waitForRequest((request) => request.kind === 'script');
  await kit.client.state(stageId, 'busy');
  return { disk, kit, stageId };
}

/** Fills the disk until the store refuses even small writes: its log may still have room in space that it used before. */
async function fillUntilRefused(disk: SmallDisk, { client }: Kit, stageId: string): Promise<unknown> {
  await disk.fill();
  let refusal: unknown;
  for (const size of [50_000, 10]) refusal = await untilRefused(size);
  return refusal;

  async function untilRefused(size: number): Promise<unknown> {
    for (let n = 0; n < 2_000; n++) {
      try {
        await client.command('put_draft', { stageId, key: 'message', writer: null, value: `${n} ${'x'.repeat(size)}` });
      } catch (error) {
        return error;
      }
    }
    throw new Error('the store took everything');
  }
}

/** Where the CLI writes its conversations: another disk. */
const noticesIn = async ({ client }: Kit, stageId: string) =>
  (await client.transcript(stageId)).flatMap((entry) => (entry.kind === 'notice' ? [entry.code] : []));

it.runIf(canMount)('shows a gap after a full disk, and asks again for the lost request', async () => {
  const { disk, kit, stageId } = await workOnSmallDisk(
    { text: 'Said before.', tools: [bash] },
    { text: 'Said after.' },
  );
  const { client, model } = kit;
  // The store's own write check may still find room, so the notice may appear for a moment only.
  const reported = client.notices(
    ({ warnings }) => warnings.some((text) => text.startsWith('Nothing can be stored')),
    { withinMs: 60_000 }, // meanwhile thousands of writes fill the disk
  );
  expect(await fillUntilRefused(disk, kit, stageId)).toMatchObject({
    code: 'storage_failed',
    message: expect.stringMatching(/did not happen: the disk of the data directory is full\. Free some space/),
  });
  await reported;
  model.release('go');
  await untilWritten(kit, stageId, '"tool_use"');
  await untilIdle(await livingProcess(kit, stageId)); // the process prints the request unprompted; the output is lost
  expect((await client.command('get_pending')).pending).toEqual([]);
  await disk.free();
  const { requestId } = await client.event('approval-requested');
  await client.notices(({ warnings }) => warnings.length === 0);
  const reply = await client.command('approve_tool', { stageId, requestId, decision: 'allow' });
  expect(reply).toMatchObject({ decision: { delivery: 'confirmed' } });
  await client.state(stageId, 'idle');
  expect(await noticesIn(kit, stageId)).toContain('output-lost');
  const last = (await client.transcript(stageId)).filter((entry) => entry.kind === 'text').at(-1);
  expect(last).toMatchObject({ text: 'Said after.' });
});

it.runIf(canMount)('shows the gap even if no disk check saw the full disk and only a write failed', async () => {
  const { disk, kit, stageId } = await workOnDisk(
    { ...nodePlatform, freeBytes: () => 1_000_000_000 },
    { text: 'Said after.' },
  );
  await fillUntilRefused(disk, kit, stageId);
  await disk.free();
  await kit.client.command('put_draft', { stageId, key: 'message', writer: null, value: 'Again.' });
  await expect.poll(() => noticesIn(kit, stageId)).toContain('output-lost');
  kit.model.release('go');
  await kit.client.state(stageId, 'idle');
});

it.runIf(canMount)('asks a person to check a turn whose end was lost, and continues', async () => {
  const { disk, kit, stageId } = await workOnSmallDisk({ text: 'Said into nothing. '.repeat(500) });
  const { client, model } = kit;
  await fillUntilRefused(disk, kit, stageId);
  model.release('go');
  await untilWritten(kit, stageId, 'Said into nothing.');
  await untilWritten(kit, stageId, '"end_turn"');
  await untilIdle(await livingProcess(kit, stageId)); // the process prints the end of the turn unprompted; it is lost as well
  await disk.free();
  await client.state(stageId, 'idle');
  const { stage } = await client.command('get_stage', { stageId });
  expect(stage).toMatchObject({
    column: 'needs-you',
    session: { lastTurn: { outcome: 'interrupted', message: expect.stringContaining('lost') } },
  });
  await client.command('send_message', { stageId, message: prompt({ steps: [{ text: 'Still here.' }] }) });
  await expect.poll(async () => JSON.stringify(await client.transcript(stageId))).toContain('Still here.');
});

it.runIf(canMount)('refuses an interrupt that cannot be stored, and does not touch the process', async () => {
  const { disk, kit, stageId } = await workOnSmallDisk({ text: 'Said after all.' });
  const { client, model } = kit;
  const identity = await livingProcess(kit, stageId);
  await fillUntilRefused(disk, kit, stageId);
  await expect(client.command('interrupt', { stageId })).rejects.toMatchObject({ code: 'storage_failed' });
  expect(await isAlive(identity)).toBe(true);
  await disk.free();
  model.release('go');
  await client.state(stageId, 'idle');
});

it.runIf(canMount)('settles a process that died on a full disk once there is room', async () => {
  const { disk, kit, stageId } = await workOnSmallDisk({ text: 'Never said.' });
  const identity = await livingProcess(kit, stageId);
  await fillUntilRefused(disk, kit, stageId);
  await killProcess(identity);
  await expect(kit.client.command('send_message', { stageId, message: 'Hello?' })).rejects.toMatchObject({
    code: 'storage_failed',
  });
  await disk.free();
  await kit.client.state(stageId, 'ended');
  expect(await noticesIn(kit, stageId)).toContain('process-ended');
});
