import { expect, it } from 'vitest';
import { createTurns } from './turns.ts';

it('does work on one thing in turn, also behind work that failed, and on others at once', async () => {
  const inTurn = createTurns();
  const done: string[] = [];
  const gate = Promise.withResolvers<void>();
  const first = inTurn('a', async () => {
    await gate.promise;
    done.push('first');
    throw new Error('no');
  });
  const second = inTurn('a', async () => done.push('second'));
  await inTurn('b', async () => done.push('other'));
  gate.resolve();
  await expect(first).rejects.toThrow('no');
  await second;
  await inTurn('a', async () => done.push('third'));
  expect(done).toEqual(['other', 'first', 'second', 'third']);
});
