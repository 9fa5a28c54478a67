import { expect, it, onTestFinished } from 'vitest';
import { busyTestSession, type Reported } from '../../../test/support/test-session.ts';
import { openTestStore, tickingPlatform } from '../../../test/support/test-store.ts';
import { localDay } from './spending-limits.ts';

const tokens = { input: 10, output: 20, cacheRead: 4_000, cacheCreation: 300 };
const turn = (costUsd: number, factor: number): Reported => ({
  type: 'turn-ended',
  end: {
    outcome: 'succeeded',
    message: null,
    durationMs: 5,
    costUsd,
    tokens: { ...tokens, input: tokens.input * factor, output: tokens.output * factor },
  },
});

function inTimeZone(zone: string): void {
  const before = process.env.TZ;
  process.env.TZ = zone;
  onTestFinished(() => {
    if (before === undefined) delete process.env.TZ;
    else process.env.TZ = before;
  });
}

it('counts by the local day of the server, also where a day has 23 or 25 hours', () => {
  inTimeZone('Europe/Berlin');
  const days = (...instants: string[]) => instants.map(localDay);
  // 2026-03-29 begins at 23:00 UTC and ends at 22:00 UTC; 2026-10-25 begins at 22:00 and ends at 23:00.
  expect(days('2026-03-28T22:59:59.999Z', '2026-03-28T23:00:00.000Z')).toEqual(['2026-03-28', '2026-03-29']);
  expect(days('2026-03-29T21:59:59.999Z', '2026-03-29T22:00:00.000Z')).toEqual(['2026-03-29', '2026-03-30']);
  expect(days('2026-10-24T22:00:00.000Z', '2026-10-25T00:30:00.000Z')).toEqual(['2026-10-25', '2026-10-25']);
  expect(days('2026-10-25T22:59:59.999Z', '2026-10-25T23:00:00.000Z')).toEqual(['2026-10-25', '2026-10-26']);
});

it('has what a stage has spent on each day, and the tokens without those read from the cache', async () => {
  inTimeZone('America/New_York');
  let now = new Date('2026-11-01T03:59:00.000Z'); // a minute before midnight, on the day before the clock is set back
  const given = await openTestStore({ ...tickingPlatform(), now: () => now });
  const session = await busyTestSession({}, given);
  await session.emit(turn(0.25, 1));
  now = new Date('2026-11-01T04:00:00.000Z');
  await session.emit(turn(0.75, 2));
  now = new Date('2026-11-02T04:59:59.000Z');
  await session.emit(turn(1, 3));
  const { stageId } = session;
  const projectId = (await given.store.read.stages.find(stageId))?.projectId;
  const rows = [
    { day: '2026-10-31', stageId, projectId, usd: 0.25, tokens: 330 },
    { day: '2026-11-01', stageId, projectId, usd: 0.75, tokens: 60 },
  ];
  expect(await given.store.read.spending.list('2026-10-31', '2026-11-01')).toEqual(rows);
  expect(await given.store.read.spending.list('2026-11-01', '2026-11-30')).toEqual(rows.slice(1));
});

it('keeps what a removed stage has spent', async () => {
  const given = await openTestStore();
  const session = await busyTestSession({}, given);
  await session.emit(turn(0.25, 1));
  await given.store.transact((tx) => tx.stages.remove(session.stageId));
  expect(await given.store.read.spending.list('0000', '9999')).toMatchObject([{ usd: 0.25, tokens: 330 }]);
});
