import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SANDBOX_UNTRIED } from '@callboard/contract';
import { expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../../../../../test-support/temporary-folder.ts';
import { openTestStore, silent, withFields } from '../../../test/support/test-store.ts';
import { findMarkedProcesses } from '../../platform/process-table.ts';
import { createWorktrees } from '../worktrees/worktrees.ts';
import { createSessions } from './sessions.ts';

it('ends a spawned process that cannot be attached before it reports that the start failed', async () => {
  const folder = await temporaryFolder();
  const claude = join(folder, 'claude');
  await writeFile(claude, '#!/bin/sh\nexec sleep 600\n');
  await chmod(claude, 0o755);
  const { store, platform, addStage } = await openTestStore();
  const stageId = await addStage();
  const marked: (readonly number[])[] = [];
  const left = async () => [...(await findMarkedProcesses()).values()].flat().filter((pid) => marked[0]?.includes(pid));
  onTestFinished(async () => {
    for (const pid of await left()) process.kill(pid, 'SIGKILL');
  });
  // The first query about a launch after its process was spawned.
  const find = async (id: Parameters<typeof store.read.launches.find>[0]) => {
    marked.push((await findMarkedProcesses()).get(id) ?? []);
    throw new Error('too many open files');
  };
  const env = { PATH: process.env.PATH ?? '', HOME: folder };
  const program = async () => ({ path: claude, version: null, flags: null, gaps: [] });
  const known = { program, saw: () => undefined, invalidate: () => undefined };
  const sessions = createSessions({
    store: { ...store, read: withFields(store.read, { launches: { ...store.read.launches, find } }) },
    platform,
    log: silent,
    snapshotBefore: () => undefined,
    misplacement: () => undefined,
    dataDir: folder,
    env,
    claude: known,
    initializeTimeoutMs: 60_000,
    setUp: {
      run: async () => undefined,
      stop: async () => false,
      baseOf: async () => ({ base: null, fetch: false }),
    },
    lowPriorityWork: { add: () => undefined, recordActivity: () => undefined },
    sandbox: { forLaunch: async () => ({ ...SANDBOX_UNTRIED, isRefused: false }), refused: () => undefined },
    graces: { interruptMs: 100, endSessionMs: 100, signalMs: 1_000 },
    worktrees: {
      ...createWorktrees({ dataDir: folder, env }),
      ensure: async () => ({ path: folder, branch: 'callboard/S1', base: 'main' }),
      requireInPlace: () => undefined,
    },
    trust: {
      forLaunch: async () => ({
        leftOut: null,
        allow: [],
        directories: [],
        ask: [],
        deny: [],
        preferences: {},
        newPersonal: [],
        hasHooks: false,
        excluded: [],
        atLaunch: { items: [], rules: [] },
      }),
    },
    onTextDelta: () => undefined,
    onLiveNow: () => undefined,
    onRuleUsed: () => undefined,
    onHookUsed: () => undefined,
    onLaunchUpdate: () => undefined,
    onRuleDenied: () => undefined,
  });
  await expect(sessions.start(stageId, 'Ada')).rejects.toThrow('too many open files');
  expect(marked).toHaveLength(1);
  expect(marked[0]).toHaveLength(1);
  expect(await left()).toEqual([]);
  expect(await store.read.sessions.find(stageId)).toMatchObject({ state: 'failed', launchId: null });
});
