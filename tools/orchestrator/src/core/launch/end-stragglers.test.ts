import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { LaunchId } from '@callboard/contract';
import { expect, it, onTestFinished } from 'vitest';
import { openTestStore, silent } from '../../../test/support/test-store.ts';
import { endAllSessions } from '../../end-all-sessions.ts';
import { dataDirLayout } from '../../platform/data-dir.ts';
import { endStragglers, LAUNCH_MARKER } from '../../platform/process-table.ts';
import { nodePlatform } from '../../platform/runtime.ts';
import { reAttachLaunches } from './re-attach-launches.ts';

const newLaunchId = () => LaunchId.parse(nodePlatform.newId());

/** A process that a launch started in a worktree; it ends with its test. */
async function marked(id: LaunchId, cwd: string) {
  const env = { PATH: process.env.PATH, [LAUNCH_MARKER]: id };
  const child = spawn('sleep', ['600'], { env, cwd, stdio: 'ignore' });
  const exited = once(child, 'exit');
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child, 'spawn');
  return { isGone: () => child.exitCode !== null || child.signalCode !== null, exited };
}

async function setUp() {
  const testStore = await openTestStore();
  const { store, addStage } = testStore;
  const stageId = await addStage();
  const worktree = join(dataDirLayout(testStore.dataDir).worktrees, 'shop', stageId);
  await mkdir(worktree, { recursive: true });
  /** A launch in this state, and a process that it started. */
  const launch = async (state: 'starting' | 'ended') => {
    const id = newLaunchId();
    await store.transact(async (tx) => {
      await tx.launches.insert({ id, stageId, folder: '/nowhere', createdAt: tx.now });
      if (state === 'ended') await tx.launches.setEnded(id, tx.now, 'it died');
    });
    return marked(id, worktree);
  };
  return { ...testStore, worktree, launch };
}

it('ends the processes that ended launches left, and none of running launches or of another Callboard', async () => {
  const { store, worktree, launch } = await setUp();
  const [left, living] = [await launch('ended'), await launch('starting')];
  const other = await marked(newLaunchId(), worktree);
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
  const { dataDir, launch } = await setUp();
  const left = await launch('ended');
  expect(await endAllSessions(dataDir, { log: () => undefined })).toEqual({ ended: 0, failed: [] });
  await left.exited;
});
