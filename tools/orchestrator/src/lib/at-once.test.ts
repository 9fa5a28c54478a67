import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { forEachAtOnce } from './async.ts';

it('processes all items, and never more than the limit at once', async () => {
  let working = 0;
  let most = 0;
  const done: number[] = [];
  await forEachAtOnce([1, 2, 3, 4, 5, 6, 7], 3, async (item) => {
    most = Math.max(most, ++working);
    await turn();
    working -= 1;
    done.push(item);
  });
  expect(most).toBe(3);
  expect(done).toEqual([1, 2, 3, 4, 5, 6, 7]);
});

it('continues with other items while one takes long', async () => {
  const gate = Promise.withResolvers<void>();
  const done: number[] = [];
  await forEachAtOnce([1, 2, 3, 4], 2, async (item) => {
    if (item === 1) await gate.promise;
    if (item === 4) gate.resolve();
    done.push(item);
  });
  expect(done).toEqual([2, 3, 4, 1]);
});

it('rejects with the first failure and starts no more', async () => {
  const begun: number[] = [];
  const work = async (item: number) => {
    begun.push(item);
    await turn();
    if (item === 2) throw new Error('no');
  };
  await expect(forEachAtOnce([1, 2, 3, 4, 5, 6], 2, work)).rejects.toThrow('no');
  expect(begun).toEqual([1, 2, 3]);
});
