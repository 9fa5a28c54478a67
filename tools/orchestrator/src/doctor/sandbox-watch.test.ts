import type { SandboxSupport } from '@callboard/contract';
import { expect, it, vi } from 'vitest';
import { silent } from '../../test/support/test-store.ts';
import { createSandboxWatch } from './sandbox-watch.ts';

const WORKS: SandboxSupport = { state: 'works', why: null, how: null };
const FAILS: SandboxSupport = { state: 'fails', why: 'no', how: null };

function watch(...results: SandboxSupport[]) {
  const attempt = vi.fn(async () => results.shift() ?? FAILS);
  const heard = vi.fn();
  const made = createSandboxWatch({ log: silent, attempt, delayMs: 0 });
  made.onChange(heard);
  return { made, attempt, heard };
}

it('tries it once for launches at the same time, and not again once it works', async () => {
  const { made, attempt, heard } = watch(WORKS);
  expect(made.support().state).toBe('untried');
  made.begin();
  expect(await Promise.all([made.forLaunch(), made.forLaunch()])).toMatchObject([WORKS, WORKS]);
  expect(await made.forLaunch()).toMatchObject(WORKS);
  expect([attempt.mock.calls.length, heard.mock.calls.length]).toEqual([1, 1]);
});

it('tries again for a launch what has failed before, and tells only what is new', async () => {
  const { made, heard } = watch(FAILS, FAILS, WORKS);
  expect(await made.forLaunch()).toMatchObject(FAILS);
  expect(await made.forLaunch()).toMatchObject(FAILS);
  expect(heard).toHaveBeenCalledTimes(1);
  expect(await made.forLaunch()).toMatchObject(WORKS);
  expect(heard).toHaveBeenCalledTimes(2);
});

it('believes Claude Code itself before a trial', async () => {
  const { made, attempt } = watch(WORKS, WORKS);
  await made.forLaunch();
  made.refused('ripgrep not found');
  expect(await made.forLaunch()).toMatchObject({ state: 'fails', why: 'ripgrep not found', isRefused: true });
  expect(attempt).toHaveBeenCalledTimes(1);
});
