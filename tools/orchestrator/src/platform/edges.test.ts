import { afterEach, expect, it, vi } from 'vitest';
import { temporaryFolder } from '../../../../test-support/temporary-folder.ts';
import { nodePlatform } from './runtime.ts';

afterEach(() => void vi.useRealTimers());

it('makes ids in ascending order even if the clock is set back', () => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2026-01-02T03:04:05.000Z') });
  const ids: string[] = [];
  for (const jumpMs of [0, 3_600_000, -24 * 3_600_000, 0, 24 * 3_600_000, -1]) {
    vi.setSystemTime(Date.now() + jumpMs);
    ids.push(nodePlatform.newId(), nodePlatform.newId());
  }
  expect(ids.toSorted()).toEqual(ids);
  expect(new Set(ids).size).toBe(ids.length);
});

it("returns the free space of a folder's disk, and throws if it cannot be read", async () => {
  expect(nodePlatform.freeBytes(await temporaryFolder())).toBeGreaterThan(0);
  expect(() => nodePlatform.freeBytes('/nowhere/at/all')).toThrow('ENOENT');
});
