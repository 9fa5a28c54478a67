import { CONTINUE_MESSAGE } from '@callboard/contract';
import { prompt } from '@callboard/scripted-model';
import { expect, it } from 'vitest';
import { nodePlatform } from '../../src/platform/runtime.ts';
import { createKit, type Kit } from '../support/kit.ts';

const HOUR = 3_600_000;

/** The headers by which the API tells an account's limit of five hours. */
const limitHeaders = (status: 'allowed' | 'rejected', utilization: number, resetsAt: Date) => ({
  'anthropic-ratelimit-unified-status': status,
  'anthropic-ratelimit-unified-representative-claim': 'five_hour',
  'anthropic-ratelimit-unified-reset': String(resetsAt.getTime() / 1_000),
  'anthropic-ratelimit-unified-5h-status': status,
  'anthropic-ratelimit-unified-5h-reset': String(resetsAt.getTime() / 1_000),
  'anthropic-ratelimit-unified-5h-utilization': String(utilization),
});

const inHours = (hours: number) => new Date((Math.floor(Date.now() / 1_000) + hours * 3_600) * 1_000);

async function atLimit({ client }: Kit, stageId: string) {
  const isWaiting = ({ stageId: id, limitWait }: { stageId: string; limitWait: object | null }) =>
    id === stageId && limitWait !== null;
  const { limitWait } = await client.event('session-updated', isWaiting);
  await client.state(stageId, 'idle');
  return limitWait;
}

/** What Claude was told: what came before the first Continue is left out. */
async function continues({ client }: Kit, stageId: string): Promise<string[]> {
  const entries = await client.transcript(stageId);
  return entries.flatMap((entry) => (entry.kind === 'user' && entry.text === CONTINUE_MESSAGE ? [entry.text] : []));
}

it('waits at a usage limit over a restart, holds other starts, and goes on once when it resets', async () => {
  let aheadMs = 0;
  const platform = { ...nodePlatform, now: () => new Date(Date.now() + aheadMs) };
  const kit = await createKit({ hasAccount: true, platform, limits: { limitCheckIntervalMs: 50 } });
  const resetsAt = inHours(2);
  const error = { status: 429, times: 1, headers: limitHeaders('rejected', 1, resetsAt) };
  const script = { error, text: 'Here at last.', headers: limitHeaders('allowed', 0.1, inHours(7)) };
  const ended = await kit.startStage(prompt({ steps: [script] }));
  expect(await atLimit(kit, ended)).toMatchObject({ window: 'five_hour', resetsAt: resetsAt.toISOString() });
  await kit.endIdle();
  await kit.client.state(ended, 'ended');
  const living = await kit.startStage(prompt({ steps: [script] }));
  await atLimit(kit, living);
  const { stage: next } = await kit.client.command('create_stage', {
    projectId: 'shop',
    title: 'Next',
    autoStart: true,
    prompt: prompt({ steps: [{ text: 'Begun.' }] }),
  });
  await kit.client.notices(({ startHolds }) =>
    startHolds.some(({ code, stageIds }) => code === 'usage-limit' && stageIds.includes(next.id)),
  );
  await kit.stop();
  await kit.start();

  const { limits, stages } = await kit.client.command('get_board');
  expect(limits.limits).toMatchObject({ status: 'reached', windows: [{ name: 'five_hour', utilization: 1 }] });
  const waiting = stages.filter(({ id }) => id === ended || id === living);
  expect(waiting.map(({ column, session }) => ({ column, state: session?.state }))).toEqual([
    { column: 'running', state: 'ended' },
    { column: 'running', state: 'idle' },
  ]);
  aheadMs = 2 * HOUR + 31_000;
  for (const stageId of [ended, living]) {
    await kit.client.event(
      'session-updated',
      (session) => session.stageId === stageId && session.lastTurn?.outcome === 'succeeded',
    );
    expect(await continues(kit, stageId)).toEqual([CONTINUE_MESSAGE]);
    const entries = await kit.client.transcript(stageId);
    expect(entries.filter((entry) => entry.kind === 'text')).toMatchObject([{ text: 'Here at last.' }]);
  }
  await kit.client.event(
    'session-updated',
    (session) => session.stageId === next.id && session.lastTurn?.outcome === 'succeeded',
  );
  expect((await kit.client.command('get_limits')).limits).toMatchObject({ status: 'allowed' });
});

it('holds everything over a SIGKILL, goes on once where it was, and then waits for memory', async () => {
  let free = Number.POSITIVE_INFINITY;
  const kit = await createKit({ where: 'apart', platform: { ...nodePlatform, availableMemory: () => free } });
  const { model } = kit;
  const working = await kit.startStage(prompt({ steps: [{ text: 'Never said.', gate: 'shut' }] }));
  await model.waitForRequest((request) => request.kind === 'script');
  const after = prompt({ steps: [{ text: 'And after that.' }] });
  await kit.client.command('send_message', { stageId: working, message: after });
  await kit.client.command('put_hold', { scope: {}, held: true, interrupt: true });
  await kit.client.event('session-updated', ({ stageId, withheld }) => stageId === working && withheld);
  const { stage: next } = await kit.client.command('create_stage', {
    projectId: 'shop',
    title: 'Next',
    autoStart: true,
    prompt: prompt({ steps: [{ text: 'Begun.' }] }),
  });
  const pausesNext = (wanted: string) =>
    kit.client.notices(({ startHolds }) =>
      startHolds.some(({ code, stageIds }) => code === wanted && stageIds.includes(next.id)),
    );
  await pausesNext('hold');
  await kit.kill();
  free = 0;
  await kit.start();

  const { holds, stages } = await kit.client.command('get_board');
  expect(holds).toMatchObject([{ scope: {}, except: [] }]);
  const shown = stages.find(({ id }) => id === working);
  expect(shown).toMatchObject({ column: 'running', session: { state: 'idle', withheld: true, queued: 1 } });
  await kit.client.command('put_hold', { scope: {}, held: false });
  const texts = async () =>
    (await kit.client.transcript(working)).flatMap((entry) => (entry.kind === 'text' ? entry.text : []));
  await expect.poll(texts).toEqual(['OK.', 'And after that.']);
  expect(await continues(kit, working)).toEqual([CONTINUE_MESSAGE]);
  await pausesNext('memory');
  free = Number.POSITIVE_INFINITY;
  await kit.client.command('update_stage', { stageId: next.id, patch: { priority: 1 } }); // the scheduler looks again
  await kit.client.event(
    'session-updated',
    ({ stageId, lastTurn }) => stageId === next.id && lastTurn?.outcome === 'succeeded',
  );
});
