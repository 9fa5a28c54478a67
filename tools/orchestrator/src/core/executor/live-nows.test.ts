import { type SessionNowUpdate, StageId } from '@callboard/contract';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createLiveNows } from './live-now.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const a = StageId.parse('A-1');
const b = StageId.parse('B-1');

function scene() {
  const told: SessionNowUpdate[] = [];
  const nows = createLiveNows(1_000, (update) => told.push(update));
  const writes = (stageId: StageId, text: string) => nows.changed(stageId, () => ({ kind: 'writing', text }));
  return { told, nows, writes };
}

it('tells the first change at once, and then each session at most once a second', () => {
  const { told, writes } = scene();
  writes(a, 'One');
  vi.advanceTimersByTime(1);
  expect(told).toEqual([{ stageId: a, now: { kind: 'writing', text: 'One' } }]);
  for (let i = 0; i < 100; i += 1) writes(a, `One ${i}`);
  writes(b, 'Two');
  vi.advanceTimersByTime(998);
  expect(told).toHaveLength(1);
  vi.advanceTimersByTime(2);
  expect(told.slice(1).map(({ now }) => now)).toEqual([
    { kind: 'writing', text: 'One 99' },
    { kind: 'writing', text: 'Two' },
  ]);
});

it('tells nothing twice, and takes back what is over', () => {
  const { told, nows, writes } = scene();
  writes(a, 'One');
  vi.advanceTimersByTime(1);
  writes(a, 'One');
  vi.advanceTimersByTime(1_000);
  expect(told).toHaveLength(1);
  expect(nows.of(a)).toEqual({ kind: 'writing', text: 'One' });
  nows.changed(a, () => null);
  vi.advanceTimersByTime(1_000);
  expect(told.at(-1)).toEqual({ stageId: a, now: null });
  expect(nows.of(a)).toBeNull();
});

it('rests while nothing changes', () => {
  const { writes } = scene();
  writes(a, 'One');
  vi.advanceTimersByTime(5_000);
  expect(vi.getTimerCount()).toBe(0);
});
