import { afterEach, expect, it, vi } from 'vitest';
import { createProgress } from './progress.ts';

afterEach(() => void vi.useRealTimers());

it('says what is being done, counts the seconds, and leaves nothing on the terminal', () => {
  vi.useFakeTimers();
  const drawn: (string | null)[] = [];
  const progress = createProgress({ progress: (line) => drawn.push(line) });
  progress.say('starting the board');
  vi.advanceTimersByTime(2_100);
  progress.clear();
  vi.advanceTimersByTime(5_000);
  expect(drawn).toEqual([
    null,
    'callboard: starting the board...',
    'callboard: starting the board... 1 s',
    'callboard: starting the board... 2 s',
    null,
  ]);
});

it('writes nothing where stderr is no terminal', () => {
  vi.useFakeTimers();
  const progress = createProgress({ progress: null });
  progress.say('starting the board');
  vi.advanceTimersByTime(5_000);
  progress.clear();
  expect(vi.getTimerCount()).toBe(0);
});
