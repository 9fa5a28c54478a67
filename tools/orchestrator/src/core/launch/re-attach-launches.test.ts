import { LaunchId } from '@callboard/contract';
import { selfIdentity } from '@callboard/runtime/process-identity';
import { expect, it, onTestFinished } from 'vitest';
import { openTestStore, silent } from '../../../test/support/test-store.ts';
import { type ReAttachDeps, reAttachLaunches } from './re-attach-launches.ts';
import type { Adopted } from './sessions.ts';

/** Launches with living processes: each has the process of the test. */
async function withLaunches(count: number) {
  const { store, platform, addStage } = await openTestStore();
  const identity = await selfIdentity();
  const ids: LaunchId[] = [];
  for (let n = 0; n < count; n++) {
    const stageId = await addStage();
    const id = LaunchId.parse(platform.newId());
    await store.transact(async (tx) => {
      await tx.launches.insert({ id, stageId, folder: '/nowhere', createdAt: tx.now });
      await tx.launches.setLive(id, identity);
    });
    ids.push(id);
  }
  const reAttach = async (adopt: ReAttachDeps['sessions']['adopt']) => {
    const settle = () => Promise.reject(new Error('none has ended'));
    const sessions = { adopt, settle, beginAgain: settle };
    const reAttaching = await reAttachLaunches({ store, log: silent, signalGraceMs: 100, againMs: 5, sessions });
    onTestFinished(reAttaching.stop);
    return reAttaching;
  };
  return { ids, reAttach };
}

const unchecked: Adopted = { check: async () => undefined };

it('attaches to all launches, several at once, even if one is slow and one fails', async () => {
  const { ids, reAttach } = await withLaunches(40);
  const [slow, failing] = ids;
  const gate = Promise.withResolvers<void>();
  const adopted: LaunchId[] = [];
  let working = 0;
  let most = 0;
  await reAttach(async (id) => {
    most = Math.max(most, ++working);
    if (id === failing) {
      working -= 1;
      throw new Error('no');
    }
    // It waits for all others, so the test would hang if they waited for it.
    if (id === slow) await gate.promise;
    adopted.push(id);
    working -= 1;
    if (adopted.length === ids.length - 2) gate.resolve();
    return unchecked;
  });
  expect(new Set(adopted)).toEqual(new Set(ids.filter((id) => id !== failing)));
  expect(adopted.at(-1)).toBe(slow);
  expect(most).toBeLessThanOrEqual(16);
});

it('checks open requests once all launches are attached, and skips processes that do not answer', async () => {
  const { ids, reAttach } = await withLaunches(10);
  const all = Promise.withResolvers<void>();
  const checked: LaunchId[] = [];
  let adopted = 0;
  await reAttach(async (id) => {
    adopted += 1;
    return {
      check: async () => {
        expect(adopted).toBe(ids.length);
        checked.push(id);
        if (checked.length === ids.length) all.resolve();
        await all.promise; // no reply comes before the last process was asked
      },
    };
  });
  await all.promise;
  expect(new Set(checked)).toEqual(new Set(ids));
});

it('retries only failed launches until they are attached, and reports them meanwhile', async () => {
  const { ids, reAttach } = await withLaunches(3);
  const [first, second, third] = ids;
  const failing = new Set([first, second]);
  const tries: LaunchId[] = [];
  const reAttaching = await reAttach(async (id) => {
    tries.push(id);
    if (failing.has(id)) throw new Error('too many open files');
    return unchecked;
  });
  expect(reAttaching.storageError()).toMatch(/^2 sessions could not be re-attached \(too many open files\)/);
  const reported: (string | null)[] = [];
  reAttaching.onChange(() => reported.push(reAttaching.storageError()));
  failing.delete(first);
  await expect.poll(() => reported).toEqual([expect.stringMatching(/^One session/)]);
  failing.clear();
  await expect.poll(() => reported).toEqual([expect.stringMatching(/^One session/), null]);
  expect(tries.filter((id) => id === third)).toHaveLength(1);
});
