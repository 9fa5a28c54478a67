import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createDraftSaver } from './request-drafts.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('saves only the newest state, after a pause', async () => {
  const saver = createDraftSaver(400);
  const saved: string[] = [];
  for (const text of ['a', 'ab', 'abc']) saver.plan('r', async () => void saved.push(text));
  await vi.advanceTimersByTimeAsync(399);
  expect(saved).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(saved).toEqual(['abc']);
});

it('removes after a running save, and drops a planned save', async () => {
  const saver = createDraftSaver(400);
  const saved: string[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  saver.plan('r', () => promise.then(() => void saved.push('draft')));
  await vi.advanceTimersByTimeAsync(400);
  saver.plan('r', async () => void saved.push('late'));
  saver.now('r', async () => void saved.push('removed'));
  resolve();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(saved).toEqual(['draft', 'removed']);
});

it('saves at once when the page is left', async () => {
  const saver = createDraftSaver(400);
  const saved: boolean[] = [];
  saver.plan('r', async ({ keepalive }) => void saved.push(keepalive));
  saver.flush();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(saved).toEqual([true]);
});
