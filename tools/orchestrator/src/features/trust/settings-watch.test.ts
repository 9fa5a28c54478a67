import { utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { temporaryFolder } from '../../../../../test-support/temporary-folder.ts';
import { setClocks } from '../../../test/support/set-clocks.ts';
import { write } from '../../../test/support/settings-files.ts';
import { busyTestSession } from '../../../test/support/test-session.ts';
import { openTestStore, silent } from '../../../test/support/test-store.ts';
import { createWorktrees } from '../../core/worktrees/worktrees.ts';
import { startSettingsWatch } from './settings-watch.ts';
import { createTrust } from './trust.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

const CHECK_INTERVAL_MS = 2_000;
const LOCAL = '.claude/settings.local.json';

async function setUp() {
  const folder = await temporaryFolder();
  const { platform, pass } = setClocks();
  const test = await openTestStore(platform);
  const worktree = { path: join(folder, 'worktree'), branch: 'callboard/S1', base: 'a'.repeat(40) };
  const session = await busyTestSession({ worktree }, test);
  const { store } = session;
  const [launch] = await store.read.launches.listOf(session.stageId);
  if (launch === undefined) throw new Error('no launch');
  const settings = { ...launch.settings, isKnown: true };
  const env = { HOME: folder };
  const worktrees = createWorktrees({ dataDir: folder, env });
  const trust = createTrust({ store, worktrees, log: silent, env, fileOf: async () => ({ file: null, items: [] }) });
  const ask = vi.spyOn(trust, 'settingsPaths');
  const reading = vi.spyOn(trust, 'addedSince');
  const executor = { launch: { ...launch, settings }, request: () => Promise.reject(new Error('no process')) };
  let isRunning = true;
  const watch = startSettingsWatch({
    store,
    trust,
    platform,
    log: silent,
    checkIntervalMs: CHECK_INTERVAL_MS,
    running: () => (isRunning ? [executor] : []),
    raiseAlarm: () => Promise.resolve(),
  });
  onTestFinished(() => {
    isRunning = false;
    watch.stop();
  });
  /** Lets the watch check this many times; returns how often the files were read. */
  const check = async (times = 1) => {
    const before = reading.mock.calls.length;
    for (let n = 0; n < times; n++) {
      const asked = ask.mock.calls.length;
      await pass(CHECK_INTERVAL_MS);
      if (ask.mock.calls.length > asked)
        await vi.waitFor(() => expect(reading.mock.results.length).toBe(ask.mock.calls.length));
      await reading.mock.results.at(-1)?.value;
      await store.transact(async () => undefined); // after the transactions of the check
    }
    return reading.mock.calls.length - before;
  };
  const notices = async () => (await session.transcript()).filter(({ kind }) => kind === 'notice').length;
  return { check, notices, file: join(worktree.path, LOCAL), worktree: worktree.path };
}

it('reads the settings files of a running session again when one has changed, and at least every half minute', async () => {
  const { check, notices, worktree, file } = await setUp();
  expect(await check(2)).toBe(2); // a second time, because of writes within one tick of the clock
  expect(await check(10)).toBe(0);
  await write(worktree, { [LOCAL]: { permissions: { allow: ['Bash(touch *)'] } } });
  expect(await check()).toBe(1);
  await vi.waitFor(async () => expect(await notices()).toBe(1));
  expect(await check(5)).toBe(1);
  await write(worktree, { [LOCAL]: { permissions: { allow: ['Bash(chmod *)'] } } }); // the same size
  await utimes(file, 0, 0);
  expect(await check()).toBe(1);
  await vi.waitFor(async () => expect(await notices()).toBe(2));
  await check(5);
  expect(await check(30)).toBe(2);
});
