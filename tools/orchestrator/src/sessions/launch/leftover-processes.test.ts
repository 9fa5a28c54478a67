import { expect, it } from 'vitest';
import { mayStartSomething } from './leftover-processes.ts';

it.each([
  ['in the silence of a long tool', false, 59_000, true],
  ['when it has been silent in its turn for a minute', false, 61_000, false],
  ['right after its turn', true, 1_000, true],
  ['when its turn has long been over', true, 3_000, false],
])('a process may start something: %s', (_name, isTurnOver, silentMs, may) => {
  expect(mayStartSomething({ at: new Date(), silentMs, isTurnOver })).toBe(may);
});
