import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { until } from '../../../../../test-support/until.ts';
import { commandId, FAILED, settled, setUpChecks } from '../../../test/support/test-checks.ts';
import { turnEnded } from '../../../test/support/test-session.ts';
import { changeSession } from '../../core/session/change-session.ts';
import { startChecks } from './checks.ts';

const STORED = { due: 0, claimed: 1, running: 2, ended: 2, told: 3, passed: 3 } as const;

it.each(['due', 'claimed', 'running', 'ended', 'told', 'passed'] as const)(
  'is settled after a kill while it was %s, and what follows happens once',
  async (moment) => {
    const { session, store, start, running, messages, commands, stageId, started } = await setUpChecks();
    let writes = 0;
    if (moment !== 'due') {
      // A process that is killed stores nothing from that moment on.
      await startChecks({
        store,
        log: pino({ level: 'silent' }),
        maxParallel: 2,
        commands,
        resumeWith: async () => true,
        untilStored: (work) => (++writes <= STORED[moment] ? store.transact(work) : new Promise(() => undefined)),
      });
    }
    await session.emit(turnEnded());
    if (moment !== 'due') {
      const first = await running(1);
      await settled(session, 'running');
      await until('the writes before the kill', async () => writes >= Math.min(2, STORED[moment]));
      if (moment === 'ended' || moment === 'told') first.end(FAILED);
      if (moment === 'passed') first.end({});
      if (STORED[moment] === 3) await until('the result', async () => writes === 3);
    }
    const isOver = moment === 'told' || moment === 'passed';
    if (moment === 'told') await settled(session, 'failed');
    if (moment === 'passed') await until('the next phase', async () => (await session.record()).phaseIndex === 1);
    const before = started.length;
    const checks = await start();
    if (!isOver) {
      (await running(before + 1)).end(FAILED);
      await settled(session, 'failed');
    }
    await checks.drain();
    expect(started).toHaveLength(isOver ? before : before + 1);
    const reported = (await messages()).filter((text) => text.startsWith('The check of'));
    const prompts = (await messages()).filter((text) => text.startsWith('Finish after'));
    expect([reported.length, prompts.length]).toEqual(moment === 'passed' ? [0, 1] : [1, 0]);
    const states = (await checks.list(stageId)).map(({ state }) => state);
    const last = moment === 'passed' ? 'passed' : 'failed';
    expect(states).toEqual(moment === 'due' || isOver ? [last] : [last, 'interrupted']);
    if (moment !== 'passed') expect(await session.record()).toMatchObject({ check: { failures: 1 } });
  },
);

it('keeps its result if its output cannot be read, and while the store cannot be written', async () => {
  const { session, store, commands, running, messages } = await setUpChecks();
  const writable = Promise.withResolvers<void>();
  let writes = 0;
  const checks = await startChecks({
    store,
    log: pino({ level: 'silent' }),
    maxParallel: 2,
    commands: { ...commands, tail: () => Promise.reject(new Error('EIO')) },
    resumeWith: async () => true,
    async untilStored(work) {
      writes += 1;
      if (writes === 2) await writable.promise; // which command it is
      return store.transact(work);
    },
  });
  onTestFinished(checks.stop);
  await session.emit(turnEnded());
  (await running(1)).end(FAILED);
  await until('the write that waits', async () => writes === 2);
  expect(await session.record()).toMatchObject({ check: { state: 'running' } });
  writable.resolve();
  await settled(session, 'failed');
  expect((await messages()).at(-1)).toContain('[The output cannot be read: EIO]');
});

it('drops a check that its session knows nothing of', async () => {
  const { session, store, stageId, start, running } = await setUpChecks();
  await session.emit(turnEnded());
  const [due] = await store.read.checks.listIn(['waiting']);
  if (due === undefined) throw new Error('nothing is due');
  await store.transact((tx) => tx.checks.save({ ...due, id: commandId(9) }));
  const checks = await start();
  (await running(1)).end({});
  await checks.drain();
  expect((await checks.list(stageId)).map(({ state }) => state).toSorted()).toEqual(['passed', 'stopped']);
});

it('is not run again for ever', async () => {
  const { session, store, start, stageId, columnNow } = await setUpChecks();
  await session.emit(turnEnded());
  for (let restart = 0; restart < 3; restart++) {
    const [run] = await store.read.checks.listIn(['waiting']);
    if (run === undefined) throw new Error('nothing is due');
    await store.transact((tx) => changeSession(tx, stageId, () => tx.checks.save({ ...run, state: 'running' })));
    await start(undefined, 0);
  }
  expect(await columnNow()).toBe('needs-you');
  expect(await session.record()).toMatchObject({ atGate: true, check: { state: 'interrupted' } });
});
