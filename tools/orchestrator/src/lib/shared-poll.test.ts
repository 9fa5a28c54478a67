import { expect, it, onTestFinished, vi } from 'vitest';
import { createSharedPoll } from './async.ts';

function setUp(...parts: Parameters<typeof createSharedPoll>) {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const poll = createSharedPoll(...parts);
  const ran: string[] = [];
  const add = (name: string, hasWork: () => boolean = () => true) =>
    poll.add(() => {
      if (hasWork()) ran.push(name);
      return hasWork();
    });
  function after(ms: number): string[] {
    vi.advanceTimersByTime(ms);
    return ran.splice(0);
  }
  return { poll, add, after };
}

it('runs all checks in each round, with one timer, until they are removed', () => {
  const { add, after } = setUp({ everyMs: 50 });
  const [removeA, removeB] = [add('a'), add('b')];
  expect(vi.getTimerCount()).toBe(1);
  expect(after(100)).toEqual(['a', 'b', 'a', 'b']);
  removeA();
  expect(after(50)).toEqual(['b']);
  removeB();
  expect(vi.getTimerCount()).toBe(0);
  add('c');
  expect(after(50)).toEqual(['c']);
});

it('runs at most maxPerRound checks in a round, in turns', () => {
  const { add, after } = setUp({ everyMs: 50, maxPerRound: 2 });
  for (const name of ['a', 'b', 'c', 'd', 'e']) add(name);
  expect(after(50)).toEqual(['a', 'b']);
  expect(after(50)).toEqual(['c', 'd']);
  expect(after(50)).toEqual(['e', 'a']);
});

it('does not count checks that have nothing to do', () => {
  const { add, after } = setUp({ everyMs: 50, maxPerRound: 1 });
  for (const name of ['a', 'b', 'c']) add(name, () => false);
  add('d');
  expect(after(50)).toEqual(['d']);
});

it('rests while there is nothing to do, until it is woken or a check is added', () => {
  let hasWork = false;
  const { poll, add, after } = setUp({ everyMs: 50, restMs: 1_000 });
  add('a', () => hasWork);
  after(50);
  hasWork = true;
  expect(after(900)).toEqual([]);
  expect(after(100)).toEqual(['a']);
  hasWork = false;
  after(50);
  hasWork = true;
  poll.wake();
  expect(after(10)).toEqual(['a']);
  hasWork = false;
  after(50);
  add('b');
  expect(after(10)).toEqual(['b']);
});

it('allows checks to be removed during a round', () => {
  const { poll, add, after } = setUp({ everyMs: 50 });
  const removeA: () => void = poll.add(() => {
    removeA();
    removeB();
    return true;
  });
  const removeB = add('b');
  expect(after(50)).toEqual([]);
  expect(vi.getTimerCount()).toBe(0);
});
