import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname } from 'node:path';
import { LaunchId } from '@callboard/contract';
import { expect, it, onTestFinished } from 'vitest';
import { openTestStore, silent } from '../../../test/support/test-store.ts';
import { endStragglers } from '../../claude/processes/end-processes.ts';
import { LAUNCH_MARKER } from '../../claude/processes/marked-processes.ts';
import { endAllSessions } from '../../end-all-sessions.ts';
import { nodeEdges } from '../../lib/edges.ts';
import { reAttachLaunches } from './re-attach-launches.ts';

const newLaunchId = () => LaunchId.parse(nodeEdges.newId());

/** A process that a launch started; it ends with its test. */
async function marked(id: LaunchId) {
  const child = spawn('sleep', ['600'], { env: { PATH: process.env.PATH, [LAUNCH_MARKER]: id }, stdio: 'ignore' });
  const exited = once(child, 'exit');
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child, 'spawn');
  return { isGone: () => child.exitCode !== null || child.signalCode !== null, exited };
}

async function setUp() {
  const testStore = await openTestStore();
  const { store, addStage } = testStore;
  const stageId = await addStage();
  /** A launch in this state, and a process that it started. */
  const launch = async (state: 'starting' | 'ended') => {
    const id = newLaunchId();
    await store.transact(async (tx) => {
      await tx.launches.insert({ id, stageId, folder: '/nowhere', createdAt: tx.now });
      if (state === 'ended') await tx.launches.setEnded(id, tx.now, 'it died');
    });
    return marked(id);
  };
  return { ...testStore, launch };
}

it('ends the processes that ended launches left, and none of running launches or of another Callboard', async () => {
  const { store, launch } = await setUp();
  const [left, living, other] = [await launch('ended'), await launch('starting'), await marked(newLaunchId())];
  expect(await endStragglers(store.read.launches, 5_000)).toBe(true);
  await left.exited;
  expect([living.isGone(), other.isGone()]).toEqual([false, false]);
});

it('ends the processes that ended launches left when Callboard starts', async () => {
  const { store, launch } = await setUp();
  const left = await launch('ended');
  const none = () => Promise.reject(new Error('no launch is running'));
  const sessions = { adopt: none, settle: none, beginAgain: none };
  const { stop } = await reAttachLaunches({ store, log: silent, signalGraceMs: 5_000, againMs: 1_000, sessions });
  await left.exited;
  await stop();
});

it('ends the processes that ended launches left when all sessions are ended while Callboard is not running', async () => {
  const { file, launch } = await setUp();
  const left = await launch('ended');
  expect(await endAllSessions(dirname(file), { log: () => undefined })).toEqual({ ended: 0, failed: [] });
  await left.exited;
});
