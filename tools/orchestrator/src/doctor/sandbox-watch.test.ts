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

it('checks once for concurrent launches, and not again once the sandbox works', async () => {
  const { made, attempt, heard } = watch(WORKS);
  expect(made.support().state).toBe('untried');
  made.begin();
  expect(await Promise.all([made.forLaunch(), made.forLaunch()])).toMatchObject([WORKS, WORKS]);
  expect(await made.forLaunch()).toMatchObject(WORKS);
  expect([attempt.mock.calls.length, heard.mock.calls.length]).toEqual([1, 1]);
});

it('checks again for a launch after a failure, and reports only changes', async () => {
  const { made, heard } = watch(FAILS, FAILS, WORKS);
  expect(await made.forLaunch()).toMatchObject(FAILS);
  expect(await made.forLaunch()).toMatchObject(FAILS);
  expect(heard).toHaveBeenCalledTimes(1);
  expect(await made.forLaunch()).toMatchObject(WORKS);
  expect(heard).toHaveBeenCalledTimes(2);
});

it('trusts Claude Code itself more than a check', async () => {
  const { made, attempt } = watch(WORKS, WORKS);
  await made.forLaunch();
  made.refused('ripgrep not found');
  expect(await made.forLaunch()).toMatchObject({ state: 'fails', why: 'ripgrep not found', isRefused: true });
  expect(attempt).toHaveBeenCalledTimes(1);
});
