import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { silent, tickingPlatform } from '../../../test/support/test-store.ts';
import { type DiskChange, startDiskWatch } from './storage.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const MB = 1_000_000;

function watchOf(reserveBytes: number) {
  const disk = { free: (500 * MB) as number | Error };
  const freeBytes = () => {
    if (disk.free instanceof Error) throw disk.free;
    return disk.free;
  };
  const platform = { ...tickingPlatform(), freeBytes };
  const watch = startDiskWatch({ dataDir: '/data', reserveBytes, platform, log: silent, pollMs: 2_000 });
  const changes: DiskChange[] = [];
  watch.onChange((change) => changes.push(change));
  return { disk, watch, changes, types: () => changes.map(({ type }) => type) };
}

it('gives a reason below the reserve: what is free, what is needed and what to do', () => {
  const { disk, watch, types } = watchOf(200 * MB);
  expect(watch.diskPauseReason()).toBeNull();
  disk.free = 199 * MB;
  expect(watch.diskPauseReason()).toMatch(
    /199 MB are free on the disk of \/data.*200 MB.*Free some space.*--disk-reserve-mb/,
  );
  expect(types()).toEqual(['low']);
  watch.stop();
});

it('uses gigabytes where megabytes would have five digits', () => {
  const { disk, watch } = watchOf(200_000 * MB);
  disk.free = 83_670 * MB;
  expect(watch.diskPauseReason()).toMatch(/83\.6 GB are free.*200\.0 GB are kept/);
  disk.free = 9_999 * MB;
  expect(watch.diskPauseReason()).toMatch(/9999 MB are free/);
  watch.stop();
});

it('polls, and recovers only when a tenth more than the reserve is free', () => {
  const { disk, watch, types } = watchOf(200 * MB);
  disk.free = 10 * MB;
  vi.advanceTimersByTime(2_000);
  expect(types()).toEqual(['low']);
  disk.free = 210 * MB;
  vi.advanceTimersByTime(2_000);
  expect(types()).toEqual(['low']);
  expect(watch.diskPauseReason()).not.toBeNull();
  disk.free = 220 * MB;
  vi.advanceTimersByTime(2_000);
  expect(types()).toEqual(['low', 'recovered']);
  expect(watch.diskPauseReason()).toBeNull();
  watch.stop();
});

it('reports that the disk was full once it has space again, even without a reserve', () => {
  const { disk, watch, changes } = watchOf(0);
  disk.free = 0;
  vi.advanceTimersByTime(6_000);
  expect(watch.diskPauseReason()).toBeNull();
  expect(changes).toEqual([]);
  disk.free = 300 * MB;
  vi.advanceTimersByTime(2_000);
  expect(changes).toEqual([{ type: 'not-full', since: expect.any(Date) }]);
  watch.stop();
});

it('reports a disk that was full only between two checks if a write failed', () => {
  const { watch, changes } = watchOf(0);
  watch.foundFull();
  vi.advanceTimersByTime(2_000);
  expect(changes).toEqual([{ type: 'not-full', since: expect.any(Date) }]);
  vi.advanceTimersByTime(4_000);
  expect(changes).toHaveLength(1);
  watch.stop();
});

it('keeps the last result while the free space cannot be read', () => {
  const { disk, watch, types } = watchOf(200 * MB);
  disk.free = new Error('gone');
  expect(watch.diskPauseReason()).toBeNull();
  disk.free = 1;
  expect(watch.diskPauseReason()).not.toBeNull();
  disk.free = new Error('gone');
  expect(watch.diskPauseReason()).not.toBeNull();
  expect(types()).toEqual(['low']);
  watch.stop();
});
