import { setImmediate as nextRound } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createYield, mapInSlices } from './async.ts';

it('continues in the same iteration of the loop while little time has passed', async () => {
  const yieldToEventLoop = createYield(() => 0);
  let rounds = 0;
  setImmediate(() => rounds++);
  for (let n = 0; n < 1_000; n++) await yieldToEventLoop();
  expect(rounds).toBe(0);
});

it('waits for the next iteration of the loop after every long stretch', async () => {
  let now = 0;
  const yieldToEventLoop = createYield(() => now);
  let rounds = 0;
  const counting = setInterval(() => rounds++, 0);
  for (let n = 0; n < 20; n++) {
    const before = rounds;
    await yieldToEventLoop();
    now += 5;
    await yieldToEventLoop();
    while (rounds === before) await nextRound();
  }
  clearInterval(counting);
  expect(rounds).toBeGreaterThanOrEqual(20);
});

it('measures from the start of each iteration', async () => {
  let now = 0;
  const yieldToEventLoop = createYield(() => now);
  for (let n = 0; n < 5; n++) {
    await nextRound();
    now += 100;
    let isNext = false;
    setImmediate(() => {
      isNext = true;
    });
    await yieldToEventLoop();
    expect(isNext).toBe(false);
  }
});

it('maps the items of a long list in order, and lets other work run in between', async () => {
  let rounds = 0;
  const counting = setInterval(() => rounds++, 0);
  const busy = (item: number) => {
    for (const until = performance.now() + 1; performance.now() < until; );
    return item + 1;
  };
  const items = Array.from({ length: 100 }, (_, index) => index);
  expect(await mapInSlices(items, busy)).toEqual(items.map((item) => item + 1));
  clearInterval(counting);
  expect(rounds).toBeGreaterThan(0);
  expect(await mapInSlices([], busy)).toEqual([]);
});
