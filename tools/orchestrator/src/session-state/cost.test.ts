import { expect, it } from 'vitest';
import { busyTestSession, type TestSession, type Told, up } from '../../test/support/test-session.ts';

/** A turn at whose end the process has counted this much. */
const turn = (costUsd: number | null): Told => ({
  type: 'turn-ended',
  end: { outcome: 'succeeded', message: null, durationMs: 5, costUsd, tokens: null },
});
const counts = (costUsd: number): Told => ({ type: 'cost-count', costUsd });

async function resume(session: TestSession, from: number): Promise<void> {
  await session.end();
  await session.enqueue('Go on');
  await session.begin();
  await session.tell(up(), counts(from));
}

const costs = async (session: TestSession) =>
  (await session.transcript()).flatMap((entry) => (entry.kind === 'turn-end' ? [entry.costUsd] : []));

it('says of each turn what it alone has cost, and of the session what all have', async () => {
  const session = await busyTestSession();
  await session.tell(counts(0), turn(0.48));
  await session.tell(turn(0.57));
  await session.tell(turn(null));
  expect(await session.tell(turn(0.64))).toMatchObject({ costUsd: 0.64 });
  expect(await costs(session)).toEqual([0.48, 0.09, null, 0.07]);
});

it('says it rightly after a resume, also where a killed process has kept nothing of its count', async () => {
  const session = await busyTestSession();
  await session.tell(counts(0), turn(0.12));
  await resume(session, 0.12);
  await session.tell(turn(0.18));
  await resume(session, 0.12);
  await session.tell(turn(0.22));
  expect(await costs(session)).toEqual([0.12, 0.06, 0.1]);
  expect(await session.record()).toMatchObject({ costUsd: 0.28 });
});

it('goes on when the count begins anew with /clear', async () => {
  const session = await busyTestSession();
  await session.tell(counts(0), turn(0.12));
  await session.tell(turn(0));
  expect(await session.tell(turn(0.06))).toMatchObject({ costUsd: 0.18 });
  expect(await costs(session)).toEqual([0.12, 0, 0.06]);
});

it('asks each process from where it counts, before it is given anything that costs', async () => {
  const session = await busyTestSession();
  const asked = (await session.outbox()).map(({ body }) =>
    body.kind === 'control' ? body.request.subtype : body.kind,
  );
  expect(asked).toEqual(['initialize', 'get_usage', 'message']);
});
