import { expect, it, onTestFinished, vi } from 'vitest';
import { createRounds } from './shared-poll.ts';

function setUp(...parts: Parameters<typeof createRounds>) {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const rounds = createRounds(...parts);
  const looked: string[] = [];
  const join = (name: string, hasWork: () => boolean = () => true) =>
    rounds.join(() => {
      if (hasWork()) looked.push(name);
      return hasWork();
    });
  function after(ms: number): string[] {
    vi.advanceTimersByTime(ms);
    return looked.splice(0);
  }
  return { rounds, join, after };
}

it('looks at all in each round, with one timer, until they leave', () => {
  const { join, after } = setUp({ everyMs: 50 });
  const [leaveA, leaveB] = [join('a'), join('b')];
  expect(vi.getTimerCount()).toBe(1);
  expect(after(100)).toEqual(['a', 'b', 'a', 'b']);
  leaveA();
  expect(after(50)).toEqual(['b']);
  leaveB();
  expect(vi.getTimerCount()).toBe(0);
  join('c');
  expect(after(50)).toEqual(['c']);
});

it('looks at some where there are more, each as often', () => {
  const { join, after } = setUp({ everyMs: 50, most: 2 });
  for (const name of ['a', 'b', 'c', 'd', 'e']) join(name);
  expect(after(50)).toEqual(['a', 'b']);
  expect(after(50)).toEqual(['c', 'd']);
  expect(after(50)).toEqual(['e', 'a']);
});

it('does not count those who have nothing to do', () => {
  const { join, after } = setUp({ everyMs: 50, most: 1 });
  for (const name of ['a', 'b', 'c']) join(name, () => false);
  join('d');
  expect(after(50)).toEqual(['d']);
});

it('rests while nobody has anything to do, and not when it is told to hurry or somebody joins', () => {
  let hasWork = false;
  const { rounds, join, after } = setUp({ everyMs: 50, restMs: 1_000 });
  join('a', () => hasWork);
  after(50);
  hasWork = true;
  expect(after(900)).toEqual([]);
  expect(after(100)).toEqual(['a']);
  hasWork = false;
  after(50);
  hasWork = true;
  rounds.hurry();
  expect(after(10)).toEqual(['a']);
  hasWork = false;
  after(50);
  join('b');
  expect(after(10)).toEqual(['b']);
});

it('can be left during a round', () => {
  const { rounds, join, after } = setUp({ everyMs: 50 });
  const leaveA: () => void = rounds.join(() => {
    leaveA();
    leaveB();
    return true;
  });
  const leaveB = join('b');
  expect(after(50)).toEqual([]);
  expect(vi.getTimerCount()).toBe(0);
});
