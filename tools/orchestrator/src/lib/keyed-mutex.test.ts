import { expect, it } from 'vitest';
import { createKeyedMutex } from './async.ts';

it('runs work with one key in turn, even after a failure, and work with other keys at once', async () => {
  const exclusively = createKeyedMutex();
  const done: string[] = [];
  const gate = Promise.withResolvers<void>();
  const first = exclusively('a', async () => {
    await gate.promise;
    done.push('first');
    throw new Error('no');
  });
  const second = exclusively('a', async () => done.push('second'));
  await exclusively('b', async () => done.push('other'));
  gate.resolve();
  await expect(first).rejects.toThrow('no');
  await second;
  await exclusively('a', async () => done.push('third'));
  expect(done).toEqual(['other', 'first', 'second', 'third']);
});
