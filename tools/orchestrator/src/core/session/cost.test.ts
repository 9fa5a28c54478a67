import { expect, it } from 'vitest';
import { busyTestSession, type Reported, type TestSession, up } from '../../../test/support/test-session.ts';

/** The end of a turn; `costUsd` is the total that the process has counted so far. */
const turn = (costUsd: number | null): Reported => ({
  type: 'turn-ended',
  end: { outcome: 'succeeded', message: null, durationMs: 5, costUsd, tokens: null },
});
const counts = (costUsd: number): Reported => ({ type: 'cost-count', costUsd, tokens: null });

async function resume(session: TestSession): Promise<void> {
  await session.enqueue('Go on');
  await session.begin();
  await session.emit(up());
}

const asked = async (session: TestSession) =>
  (await session.outbox()).filter(({ body }) => body.kind === 'control' && body.request.subtype === 'get_usage').length;

const costs = async (session: TestSession) =>
  (await session.transcript()).flatMap((entry) => (entry.kind === 'turn-end' ? [entry.costUsd] : []));

it('shows for each turn its own cost, and for the session the sum of all turns', async () => {
  const session = await busyTestSession();
  await session.emit(turn(0.48));
  await session.emit(turn(0.57));
  await session.emit(turn(null));
  expect(await session.emit(turn(0.64))).toMatchObject({ costUsd: 0.64 });
  expect(await costs(session)).toEqual([0.48, 0.09, null, 0.07]);
  expect(await asked(session)).toBe(0);
});

it('continues from the count of a process that was stopped', async () => {
  const session = await busyTestSession();
  await session.emit({ type: 'conversation', sessionId: 'c1' }, turn(0.12));
  await session.end({ kind: 'stopped', reason: 'Stopped by Ada.' });
  await resume(session);
  await session.emit(turn(0.18));
  expect(await costs(session)).toEqual([0.12, 0.06]);
  expect(await asked(session)).toBe(0);
});

it('asks a process for its starting count if the one before it died, which may not have saved its count', async () => {
  const session = await busyTestSession();
  await session.emit({ type: 'conversation', sessionId: 'c1' }, turn(0.12));
  await session.end();
  await resume(session);
  expect(await asked(session)).toBe(1);
  await session.emit(counts(0), turn(0.1));
  expect(await costs(session)).toEqual([0.12, 0.1]);
  expect(await session.record()).toMatchObject({ costUsd: 0.22 });
});

it('keeps the cost of the session when /clear resets the count', async () => {
  const session = await busyTestSession();
  await session.emit(turn(0.12));
  await session.emit(turn(0));
  expect(await session.emit(turn(0.06))).toMatchObject({ costUsd: 0.18 });
  expect(await costs(session)).toEqual([0.12, 0, 0.06]);
});
