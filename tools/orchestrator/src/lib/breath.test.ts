import { setImmediate as nextRound } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createBreath, mapInSlices } from './breath.ts';

it('goes on in the same round of the loop while little time has passed', async () => {
  const breath = createBreath(() => 0);
  let rounds = 0;
  setImmediate(() => rounds++);
  for (let n = 0; n < 1_000; n++) await breath();
  expect(rounds).toBe(0);
});

it('waits for the next round of the loop after a long stretch, again and again', async () => {
  let now = 0;
  const breath = createBreath(() => now);
  let rounds = 0;
  const counting = setInterval(() => rounds++, 0);
  for (let n = 0; n < 20; n++) {
    const before = rounds;
    await breath();
    now += 5;
    await breath();
    while (rounds === before) await nextRound();
  }
  clearInterval(counting);
  expect(rounds).toBeGreaterThanOrEqual(20);
});

it('counts from the beginning of each round', async () => {
  let now = 0;
  const breath = createBreath(() => now);
  for (let n = 0; n < 5; n++) {
    await nextRound();
    now += 100;
    let isNext = false;
    setImmediate(() => {
      isNext = true;
    });
    await breath();
    expect(isNext).toBe(false);
  }
});

it('makes something of each item of a long list, in their order, and gives others their turn', async () => {
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
