import { type BudgetScope, boardView, CONTINUE_MESSAGE, ProjectId, StageId } from '@callboard/contract';
import { expect, it, onTestFinished } from 'vitest';
import { postgresLack } from '../../../../../test-support/postgres.ts';
import { setClocks } from '../../../test/support/set-clocks.ts';
import { testQueue } from '../../../test/support/test-queue.ts';
import { asked, busyTestSession, type Reported, read, type TestSession } from '../../../test/support/test-session.ts';
import { openTestStore, type StoreKind, silent, withFields } from '../../../test/support/test-store.ts';
import { createBudgetGate, resumeDeferredWork } from '../../core/launch/scheduler.ts';
import { changeSession } from '../../core/session/change-session.ts';
import type { Store } from '../../store/store.ts';
import { createBudgets, startBudgetWatch } from './budgets.ts';

const START = Date.parse('2026-01-02T12:00:00.000Z');
const DAY = 86_400_000;

/** A session in a turn, with the budgets of its store. */
async function setUp(kind?: StoreKind) {
  const clocks = setClocks(START);
  const given = await openTestStore(clocks.platform, kind);
  const session = await busyTestSession({}, given);
  const started: string[] = [];
  const on = (store: Store) => {
    const { sendTextIn, release } = testQueue(withFields(session, { store }));
    const start = async (stageId: string) => void started.push(stageId);
    return createBudgets({ store, platform: clocks.platform, onChange: () => {}, start, sendTextIn, release });
  };
  const scopes = {
    stage: { stageId: session.stageId },
    project: { projectId: ProjectId.parse('shop') },
    day: { day: true },
    all: {},
  } satisfies Record<string, BudgetScope>;
  return { ...clocks, given, session, started, on, budgets: on(given.store), scopes };
}
type Scene = Awaited<ReturnType<typeof setUp>>;

/** A look at the budgets, as after a start of Callboard. @returns the stages that it interrupts, and whether a day has begun */
async function check({ session: { store, platform } }: Scene) {
  const interrupted: string[] = [];
  let days = 0;
  const watch = startBudgetWatch({
    store,
    platform,
    log: silent,
    onFigures: () => {},
    onDay: () => days++,
    interrupt: async (stageId) => void interrupted.push(stageId),
  });
  onTestFinished(watch.stop);
  await watch.drain();
  return { interrupted, watch, days: () => days };
}

/** The running turn has spent this so far. */
async function spending({ store, stageId, emit }: TestSession, usd: number, tokens = 0): Promise<void> {
  await emit({ type: 'used', tokens: { input: tokens, output: 0, cacheRead: 1e9, cacheCreation: 0 } });
  await store.transact((tx) =>
    changeSession(tx, stageId, (change) => {
      const { turnUsage } = change.record;
      change.record = { ...change.record, turnUsage: turnUsage && { ...turnUsage, costUsd: usd } };
    }),
  );
}

const ended = (outcome: 'succeeded' | 'interrupted', costUsd: number, input = 0): Reported => ({
  type: 'turn-ended',
  end: { outcome, message: null, durationMs: 5, costUsd, tokens: { input, output: 0, cacheRead: 0, cacheCreation: 0 } },
});

const texts = async ({ transcript }: TestSession, code: string) =>
  (await transcript()).flatMap((entry) => (entry.kind === 'notice' && entry.code === code ? [entry.text] : []));

async function columnOf({ store }: TestSession) {
  const machine = { warnings: [], paused: null };
  return boardView({ ...(await store.board()), ...machine }).stages[0]?.column;
}

/** What Claude was told after the first message. */
const reported = async ({ transcript }: TestSession) =>
  (await transcript()).flatMap((entry) => (entry.kind === 'user' ? [entry.text] : [])).slice(1);

it('warns once at 80 %, also over a restart, and again after the budget was set anew', async () => {
  const scene = await setUp();
  const { session, budgets, scopes } = scene;
  await budgets.put({ scope: scopes.stage, usd: 1 });
  await spending(session, 0.79);
  await check(scene);
  expect(await texts(session, 'budget-near')).toEqual([]);
  await spending(session, 0.8);
  const { interrupted, watch } = await check(scene);
  expect(await texts(session, 'budget-near')).toEqual([
    'The budget of this stage is nearly spent: $0.80 of $1.00. When it is spent, Callboard interrupts the turn.',
  ]);
  await spending(session, 0.9);
  await watch.drain();
  await check(scene);
  expect(await texts(session, 'budget-near')).toHaveLength(1);
  await budgets.put({ scope: scopes.stage, usd: 1.1 });
  await check(scene);
  expect(await texts(session, 'budget-near')).toHaveLength(2);
  expect(interrupted).toEqual([]);
});

it('interrupts a turn at 100 %, says so once, and again interrupts after a kill in between', async () => {
  const scene = await setUp();
  const { session, budgets, scopes } = scene;
  await budgets.put({ scope: scopes.project, tokens: 1_000 });
  await spending(session, 0, 1_200);
  expect((await check(scene)).interrupted).toEqual([session.stageId]);
  const text =
    'Budget spent: 1,200 of 1,000 tokens, 200 tokens over. It is the budget of this project, so Callboard interrupts the turn. Raise the budget, or continue once.';
  expect(await texts(session, 'budget-spent')).toEqual([text]);
  expect((await check(scene)).interrupted).toEqual([session.stageId]); // killed before the interrupt was sent
  expect(await texts(session, 'budget-spent')).toEqual([text]);
  await session.emit(ended('interrupted', 0.4, 1_200));
  expect((await check(scene)).interrupted).toEqual([]);
  const spentBudget = { scope: scopes.project, unit: 'tokens', spent: 1_200, limit: 1_000 };
  expect(await session.record()).toMatchObject({ state: 'idle', spentBudget, costUsd: 0.4 });
  expect(await columnOf(session)).toBe('needs-you');
});

it('hears of a first budget, set here', async () => {
  const scene = await setUp();
  const { session, budgets, scopes } = scene;
  const { interrupted, watch } = await check(scene);
  await budgets.put({ scope: scopes.project, tokens: 1_000 });
  watch.schedule();
  await spending(session, 0, 1_200);
  await watch.drain();
  expect(interrupted).toEqual([session.stageId]);
});

it.skipIf(postgresLack !== '')(
  `hears of a first budget, set on another machine${postgresLack && ` (${postgresLack})`}`,
  async () => {
    const scene = await setUp('PostgreSQL');
    const { session, given, on, scopes } = scene;
    const { interrupted, watch } = await check(scene);
    const other = await given.openAgain();
    const heard = new Promise<void>((resolve) => onTestFinished(session.store.onForeignCommit(resolve)));
    await on(other).put({ scope: scopes.project, tokens: 1_000 });
    await heard;
    await spending(session, 0, 1_200);
    await watch.drain();
    expect(interrupted).toEqual([session.stageId]);
    await other.close();
  },
);

it('leaves a turn alone that waits for a person, until Claude works on', async () => {
  const scene = await setUp();
  const { session, budgets, scopes } = scene;
  await budgets.put({ scope: scopes.day, usd: 1 });
  await session.emit(asked('r1'));
  const { watch, interrupted } = await check(scene);
  await spending(session, 2);
  await watch.drain();
  expect(interrupted).toEqual([]);
  await session.emit({ type: 'withdrawn', requestId: 'r1' });
  await watch.drain();
  expect(interrupted).toEqual([session.stageId]);
});

it('keeps what is queued until the budget is raised, and then delivers it once', async () => {
  const scene = await setUp();
  const { session, budgets, scopes } = scene;
  await session.emit(ended('succeeded', 2));
  await budgets.put({ scope: scopes.all, usd: 2 });
  const messageId = await session.enqueue('More');
  expect(await session.record()).toMatchObject({ state: 'idle', queued: 1, spentBudget: { spent: 2, limit: 2 } });
  expect(await columnOf(session)).toBe('needs-you');
  await budgets.put({ scope: scopes.all, usd: 3 });
  expect(await session.record()).toMatchObject({ spentBudget: null });
  const { store } = session;
  const resume = () =>
    resumeDeferredWork({
      store,
      log: silent,
      repeatIn: async () => {},
      resumeWith: async () => true,
    });
  await resume();
  await resume();
  expect(await reported(session)).toEqual(['More']);
  await session.emit(read(messageId), ended('succeeded', 2.5));
  expect(await columnOf(session)).toBe('review');
});

it('lets a person continue once: until the turn has ended', async () => {
  const scene = await setUp();
  const { session, budgets, scopes, started } = scene;
  const { stageId } = session;
  await expect(budgets.continueBeyond(stageId, 'Ada')).rejects.toMatchObject({ code: 'no_spent_budget' });
  await budgets.put({ scope: scopes.stage, usd: 1 });
  await session.emit(ended('interrupted', 1.5));
  await budgets.continueBeyond(stageId, 'Ada');
  expect(await reported(session)).toEqual([CONTINUE_MESSAGE]);
  expect(await texts(session, 'beyond-budget')).toEqual([
    'Ada allowed the stage to go over the budget of this stage once ($1.50 of $1.00).',
  ]);
  await session.emit({ type: 'turn-started', model: null, mode: null, messageIds: [] });
  await spending(session, 5);
  expect((await check(scene)).interrupted).toEqual([]);
  const row = (await session.outbox()).findLast(({ kind }) => kind === 'message');
  await session.emit(read(row?.wireId ?? ''), ended('succeeded', 3));
  await session.enqueue('More');
  expect(await session.record()).toMatchObject({
    state: 'idle',
    queued: 1,
    beyondBudget: false,
    spentBudget: { spent: 3 },
  });
  await session.end({ kind: 'stopped', reason: 'Stopped.' });
  await budgets.continueBeyond(stageId, 'Ada');
  expect(started).toEqual([stageId]);
});

it('continues once, whatever is killed and when', async () => {
  for (const nth of [1, 2]) {
    const scene = await setUp();
    const { session, budgets, scopes, on, given } = scene;
    await session.enqueue('Waits');
    await session.emit(ended('interrupted', 1.5)); // its queue is held
    await budgets.put({ scope: scopes.stage, usd: 1 });
    let count = 0;
    const dying: Store = withFields(given.store, {
      transact: (work, options) =>
        given.store.transact(async (tx) => {
          const result = await work(tx);
          if (++count === nth) throw new Error('killed');
          return result;
        }, options),
    });
    await expect(on(dying).continueBeyond(session.stageId, 'Ada')).rejects.toThrow('killed');
    expect(await reported(session)).toEqual([]);
    await budgets.continueBeyond(session.stageId, 'Ada');
    expect(await reported(session)).toEqual(['Waits']);
    expect(await session.queue()).toEqual([]);
  }
});

it('counts what running turns have spent, in every scope that covers them, and nothing else', async () => {
  const scene = await setUp();
  const { session, budgets, scopes, given } = scene;
  const other = await given.addStage();
  for (const scope of [...Object.values(scopes), { stageId: other }])
    await budgets.put({ scope, usd: 10, tokens: 99_000 });
  await session.emit(ended('succeeded', 1));
  await session.emit({ type: 'turn-started', model: null, mode: null, messageIds: [] });
  await spending(session, 0.5, 70);
  const spent = (await budgets.list()).map(({ scope, spent }) => [scope, spent.usd, spent.tokens]);
  expect(spent.toSorted()).toEqual(
    [
      [{}, 1.5, 70],
      [scopes.day, 1.5, 70],
      [scopes.project, 1.5, 70],
      [{ stageId: other }, 0, 0],
      [scopes.stage, 1.5, 70],
    ].toSorted(),
  );
});

it('begins the budget of a day anew with the next day, and lets go on what waited', async () => {
  const scene = await setUp();
  const { session, budgets, scopes, jump } = scene;
  await budgets.put({ scope: scopes.day, usd: 2 });
  await session.emit(ended('succeeded', 2));
  await session.enqueue('More');
  expect(await session.record()).toMatchObject({ spentBudget: { scope: { day: true } } });
  const { watch, days } = await check(scene);
  expect(days()).toBe(1);
  jump(DAY);
  watch.schedule();
  await watch.drain();
  expect(days()).toBe(2);
  expect(await session.record()).toMatchObject({ spentBudget: null });
  expect(await budgets.list()).toMatchObject([{ spent: { usd: 0 } }]);
});

it('keeps covered stages from starting automatically', async () => {
  const { session, budgets, scopes, given } = await setUp();
  const stages = async () => boardView({ ...(await given.store.board()), warnings: [], paused: null }).stages;
  await given.addStage();
  await session.emit(ended('succeeded', 2));
  const gated = async () => {
    const gate = await createBudgetGate(budgets.list)();
    return (await stages()).map((stage) => gate(stage, 0)?.reason ?? null);
  };
  await budgets.put({ scope: scopes.stage, usd: 2 });
  expect(await gated()).toEqual(['Budget of this stage spent: $2.00 of $2.00', null]);
  await budgets.put({ scope: scopes.day, usd: 1 });
  expect((await gated())[1]).toBe('Budget of today spent: $2.00 of $1.00');
  for (const scope of [scopes.stage, scopes.day]) await budgets.put({ scope });
  expect(await gated()).toEqual([null, null]);
});

it('refuses a budget of what does not exist', async () => {
  const { budgets } = await setUp();
  const stageId = StageId.parse('S99');
  await expect(budgets.put({ scope: { stageId }, usd: 1 })).rejects.toMatchObject({ code: 'unknown_stage' });
  const projectId = ProjectId.parse('nowhere');
  await expect(budgets.put({ scope: { projectId }, usd: 1 })).rejects.toMatchObject({ code: 'unknown_project' });
  await expect(budgets.continueBeyond(stageId, 'Ada')).rejects.toMatchObject({ code: 'unknown_stage' });
});
