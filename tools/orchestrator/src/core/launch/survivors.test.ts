import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { LaunchId } from '@callboard/contract';
import { expect, it, onTestFinished } from 'vitest';
import { until } from '../../../../../test-support/until.ts';
import { busyTestSession } from '../../../test/support/test-session.ts';
import { silent } from '../../../test/support/test-store.ts';
import { endMarked, LAUNCH_MARKER } from '../../platform/process-table.ts';
import { nodePlatform } from '../../platform/runtime.ts';
import { changeSession } from '../session/change-session.ts';
import { createLeftoverProcesses, createSurvivors, recountLeftovers } from './leftover-processes.ts';

const newLaunchId = () => LaunchId.parse(nodePlatform.newId());
const PAUSES = { firstMs: 1, maxMs: 4 };

/** Survivors of which each one is gone after so many attempts. */
function attempted(attemptsOf: (id: LaunchId) => number) {
  const [tried, gone]: [LaunchId[], LaunchId[]] = [[], []];
  const survivors = createSurvivors({
    log: silent,
    graceMs: 1,
    pauses: PAUSES,
    end: async ([id]) =>
      tried.push(LaunchId.parse(id)) > 0 && tried.filter((one) => one === id).length >= attemptsOf(LaunchId.parse(id)),
    onGone: async (id) => void gone.push(id),
  });
  onTestFinished(survivors.stop);
  return { survivors, tried, gone };
}

it('tries again until the processes of each launch are gone, and then no more', async () => {
  const [quick, slow] = [newLaunchId(), newLaunchId()];
  const { survivors, tried, gone } = attempted((id) => (id === quick ? 1 : 4));
  survivors.add([quick, slow]);
  await until('both are gone', () => gone.length === 2);
  expect(gone).toEqual([quick, slow]);
  expect(tried.toSorted()).toEqual([quick, slow, slow, slow, slow].toSorted());
});

it('says that they are gone again if that could not be stored', async () => {
  let said = 0;
  const onGone = async () => {
    said += 1;
    if (said === 1) throw new Error('disk full');
  };
  const survivors = createSurvivors({ log: silent, graceMs: 1, pauses: PAUSES, end: async () => true, onGone });
  onTestFinished(survivors.stop);
  survivors.add([newLaunchId()]);
  await until('it is said again', () => said === 2);
});

it('tries no more after it was stopped', async () => {
  const { survivors, tried, gone } = attempted(() => Number.POSITIVE_INFINITY);
  survivors.add([newLaunchId()]);
  await until('an attempt', () => tried.length > 0);
  await survivors.stop();
  const before = tried.length;
  survivors.add([newLaunchId()]);
  await new Promise(setImmediate);
  expect({ tried: tried.length, gone }).toEqual({ tried: before, gone: [] });
});

it('ends later what a deletion or a start could not end, and the stage says that it is gone', async () => {
  const session = await busyTestSession();
  const { store, stageId } = session;
  const launchId = session.launchId();
  await session.end();
  await store.transact((tx) =>
    changeSession(tx, stageId, (change) => {
      change.record = { ...change.record, leftovers: 1 };
    }),
  );
  const env = { PATH: process.env.PATH, [LAUNCH_MARKER]: launchId };
  const child = spawn('sleep', ['600'], { env, stdio: 'ignore', detached: true });
  const exited = once(child, 'exit');
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child, 'spawn');
  let isStuck = true;
  const end: typeof endMarked = async (ids, graceMs) => !isStuck && endMarked(ids, graceMs);
  const survivors = createSurvivors({
    log: silent,
    graceMs: 5_000,
    pauses: PAUSES,
    end,
    onGone: (id) => recountLeftovers(store, id),
  });
  onTestFinished(survivors.stop);
  const leftovers = createLeftoverProcesses({ store, graceMs: 1, end, onSurvivors: survivors.add });
  expect(await leftovers.endMarkedOf(stageId)).toMatchObject([{ pid: child.pid }]);
  isStuck = false;
  await exited;
  await until('the stage knows', async () => (await store.read.sessions.find(stageId))?.leftovers === 0);
  expect((await session.transcript()).at(-1)).toMatchObject({ kind: 'notice', code: 'leftovers-ended' });
});
