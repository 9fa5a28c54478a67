import { CONTINUE_MESSAGE } from '@callboard/contract';
import { expect, it, onTestFinished } from 'vitest';
import { setClocks } from '../../../test/support/set-clocks.ts';
import { busyTestSession, type Reported, type TestSession, turnEnded } from '../../../test/support/test-session.ts';
import { openTestStore, silent } from '../../../test/support/test-store.ts';
import { beginLaunch } from '../../core/launch/begin-launch.ts';
import { changeSession } from '../../core/session/change-session.ts';
import { openSqliteStore } from '../../store/sqlite/sqlite-store.ts';
import type { Store } from '../../store/store.ts';
import { createLimits } from './limits.ts';

const MINUTE = 60_000;
const START = Date.parse('2026-01-02T03:04:05.000Z');
const iso = (ms: number) => new Date(START + ms).toISOString();
const RESET = iso(120 * MINUTE);

const refusal = (resetsAt: string | null = RESET): Reported => ({
  type: 'usage-limits',
  overall: { status: 'reached', window: 'five_hour', resetsAt, isUsingOverage: false },
  windows: [{ name: 'five_hour', utilization: 1, status: 'reached', resetsAt }],
});
const failed: Reported = {
  type: 'turn-ended',
  end: {
    outcome: 'failed',
    message: 'You’ve hit your 5-hour limit',
    code: 'usage-limit',
    durationMs: 5,
    costUsd: 0.5,
    tokens: null,
  },
};

/** A session whose turn a limit refused, and the service on its store. */
async function setUp(fields: Record<string, unknown> = {}, reported: Reported[] = [refusal(), failed]) {
  const clocks = setClocks(START);
  const session = await busyTestSession(fields, await openTestStore(clocks.platform));
  await session.emit(...reported);
  return { ...clocks, session, limits: limitsOn(session.store, session) };
}

function limitsOn(store: Store, { platform }: TestSession) {
  const launch = { platform, dataDir: '/data' };
  return createLimits({
    store,
    async resumeWith(tx, stageId, message) {
      await beginLaunch(tx, launch, { stageId, actor: message.actor, message });
      return true;
    },
    repeatIn: async (tx, stageId) => void (await beginLaunch(tx, launch, { stageId, actor: null })),
  });
}

/** Claude reads the newest message. */
async function readAll(session: TestSession): Promise<Reported> {
  const row = (await session.outbox()).findLast(({ kind }) => kind === 'message');
  return { type: 'message-progress', messageId: row?.wireId ?? '', progress: 'consumed' };
}

/** What Claude was told, over all launches. */
async function notifiedTo({ transcript }: TestSession): Promise<string[]> {
  return (await transcript()).flatMap((entry) => (entry.kind === 'user' ? [entry.text] : []));
}

it('waits until a little after the reset, and says so', async () => {
  const { session } = await setUp();
  const { limitWait, state, lastTurn } = await session.record();
  expect({ state, code: lastTurn?.code }).toEqual({ state: 'idle', code: 'usage-limit' });
  expect(limitWait).toMatchObject({ since: iso(0), window: 'five_hour', resetsAt: RESET });
  const lateMs = Date.parse(limitWait?.goesOnAt ?? '') - Date.parse(RESET);
  expect(lateMs).toBeGreaterThanOrEqual(5_000);
  expect(lateMs).toBeLessThanOrEqual(30_000);
});

it('does not go on by itself where a person switched that off, or no reset is known', async () => {
  const off = await setUp({ goesOnAtReset: false });
  expect((await off.session.record()).limitWait).toMatchObject({ resetsAt: RESET, goesOnAt: null });
  const unknown = await setUp({}, [refusal(null), failed]);
  expect((await unknown.session.record()).limitWait).toMatchObject({ resetsAt: null, goesOnAt: null });
  const silentRefusal = await setUp({}, [failed]);
  expect((await silentRefusal.session.record()).limitWait).toMatchObject({ window: null, goesOnAt: null });
});

it('knows the reset from another session, if its own process did not tell', async () => {
  const { session } = await setUp({}, [failed]);
  await session.store.transact((tx) =>
    tx.limits.saveReported({
      status: 'reached',
      window: 'seven_day',
      resetsAt: RESET,
      isUsingOverage: false,
      windows: [],
      at: iso(0),
    }),
  );
  const id = await session.enqueue('again');
  await session.emit({ type: 'message-progress', messageId: id, progress: 'consumed' }, failed);
  expect((await session.record()).limitWait).toMatchObject({ window: 'seven_day', resetsAt: RESET });
});

it('tells Claude once to continue, in the process that still runs', async () => {
  const { session, limits } = await setUp();
  await Promise.all([limits.resume(session.stageId), limits.resume(session.stageId)]);
  await limits.resume(session.stageId);
  expect(await notifiedTo(session)).toEqual(['Do it', CONTINUE_MESSAGE]);
  expect(await session.record()).toMatchObject({ limitWait: null, state: 'busy' });
});

it('resumes a session whose process has ended, with a queue behind', async () => {
  const { session, limits } = await setUp();
  await session.end({ kind: 'stopped', reason: 'Ended after a long time.' });
  await session.enqueue('And then this');
  const before = session.launchId();
  await limits.resume(session.stageId);
  await limits.resume(session.stageId);
  const record = await session.record();
  expect(record.launchId).not.toBe(before);
  expect(record).toMatchObject({ limitWait: null, state: 'starting' });
  expect(await notifiedTo(session)).toEqual(['Do it', CONTINUE_MESSAGE]);
  expect(await session.queue()).toMatchObject([{ text: 'And then this' }]);
});

it('repeats what the conversation lacks, when the process was killed right after the refusal', async () => {
  const { session, limits } = await setUp();
  await session.end(undefined, []);
  expect((await session.record()).limitWait).not.toBeNull();
  await limits.resume(session.stageId);
  expect(await notifiedTo(session)).toEqual(['Do it']);
  const { launchId } = await session.record();
  const given = await session.store.read.outbox.listOf(launchId ?? session.launchId(), ['accepted']);
  expect(given.flatMap(({ body }) => (body.kind === 'message' ? [body.text] : []))).toEqual(['Do it']);
});

it('goes on once, wherever Callboard is killed', async () => {
  const { session, platform } = await setUp();
  const dying: Store = Object.create(session.store, {
    transact: {
      value: (work: Parameters<Store['transact']>[0]) =>
        session.store.transact(async (tx) => {
          await work(tx);
          throw new Error('killed before the commit');
        }),
    },
  });
  await expect(limitsOn(dying, session).resume(session.stageId)).rejects.toThrow('killed');
  expect((await session.record()).limitWait).not.toBeNull();
  expect(await notifiedTo(session)).toEqual(['Do it']);
  // Killed after the commit: the next Callboard reads the same file.
  await limitsOn(session.store, session).resume(session.stageId);
  const next = await openSqliteStore(session.file, platform, silent);
  onTestFinished(next.close);
  await limitsOn(next, session).resume(session.stageId);
  expect((await next.read.sessions.find(session.stageId))?.limitWait).toBeNull();
  expect(await notifiedTo(session)).toEqual(['Do it', CONTINUE_MESSAGE]);
});

it.each(['completed', 'alarm', 'terminal', 'kept'])('leaves a stage alone that changed meanwhile: %s', async (what) => {
  const { session, limits } = await setUp();
  const { stageId } = session;
  await session.store.transact(async (tx) => {
    const stage = await tx.stages.find(stageId);
    if (what === 'completed' && stage !== null) await tx.stages.update({ ...stage, completedAt: iso(0) });
    await changeSession(tx, stageId, (change) => {
      const alarm = { code: 'foreign-mode', at: iso(0), detail: '' } as const;
      if (what === 'alarm') change.record = { ...change.record, alarm };
      if (what === 'terminal') change.record = { ...change.record, terminal: { since: iso(0), by: 'Ada' } };
    });
  });
  if (what === 'kept') await limits.decide(stageId, 'never', 'Ada');
  await limits.resume(stageId);
  expect(await notifiedTo(session)).toEqual(['Do it']);
});

it('lets a person decide: now, never, at the reset', async () => {
  const { session, limits } = await setUp();
  const { stageId } = session;
  await limits.decide(stageId, 'never', 'Ada');
  expect((await session.record()).limitWait?.goesOnAt).toBeNull();
  await limits.decide(stageId, 'at-reset', 'Ada');
  expect((await session.record()).limitWait?.goesOnAt).not.toBeNull();
  await limits.decide(stageId, 'now', 'Ada');
  expect((await session.transcript()).at(-1)).toMatchObject({ text: CONTINUE_MESSAGE, by: 'Ada' });
  await expect(limits.decide(stageId, 'now', 'Ada')).rejects.toMatchObject({ code: 'not_at_limit' });
  const unknown = await setUp({}, [refusal(null), failed]);
  const refused = unknown.limits.decide(unknown.session.stageId, 'at-reset', 'Ada');
  await expect(refused).rejects.toMatchObject({ code: 'reset_unknown' });
});

it('follows the board’s switch while it waits, unless the stage says otherwise', async () => {
  const { session, limits } = await setUp();
  const own = await setUp({ goesOnAtReset: true });
  for (const one of [{ session, limits }, own]) await one.limits.update({ goesOnAtReset: false });
  expect((await session.record()).limitWait?.goesOnAt).toBeNull();
  expect((await own.session.record()).limitWait?.goesOnAt).not.toBeNull();
  await limits.update({ goesOnAtReset: true });
  expect((await session.record()).limitWait?.goesOnAt).not.toBeNull();
  expect(await limits.update({ holdStartsAt: null })).toMatchObject({
    settings: { goesOnAtReset: true, holdStartsAt: null },
  });
});

it('asks ever more seldom at a limit that should have reset, and then needs a person', async () => {
  const { session, limits, jump } = await setUp({}, [refusal(iso(-MINUTE)), failed]);
  const delays: (number | null)[] = [];
  for (let round = 0; round < 7; round++) {
    const { limitWait } = await session.record();
    const resumesAt = limitWait?.goesOnAt ?? null;
    delays.push(
      resumesAt === null ? null : Math.floor((Date.parse(resumesAt) - session.platform.now().getTime()) / MINUTE),
    );
    if (resumesAt === null) break;
    jump(Date.parse(resumesAt) - session.platform.now().getTime());
    await limits.resume(session.stageId);
    await session.emit(await readAll(session), refusal(iso(-MINUTE)), failed);
  }
  expect(delays).toEqual([2, 4, 8, 16, 32, null]);
  await limits.decide(session.stageId, 'now', 'Ada');
  await session.emit(await readAll(session), turnEnded());
  expect(await session.record()).toMatchObject({ limitWait: null, limitTries: 0 });
});

it('keeps what sessions report, each window until it has reset', async () => {
  const { session, limits, jump } = await setUp();
  const before = session.events('session-updated').length;
  expect((await limits.view()).limits).toMatchObject({ status: 'reached', windows: [{ name: 'five_hour' }] });
  const week: Reported = {
    type: 'usage-limits',
    overall: null,
    windows: [{ name: 'seven_day', utilization: 0.4, status: null, resetsAt: iso(9_000 * MINUTE) }],
  };
  await session.emit(week);
  expect((await limits.view()).limits?.windows.map(({ name }) => name)).toEqual(['five_hour', 'seven_day']);
  jump(121 * MINUTE);
  await session.emit(week);
  expect((await limits.view()).limits?.windows.map(({ name }) => name)).toEqual(['seven_day']);
  expect(session.events('session-updated').length).toBe(before);
});
