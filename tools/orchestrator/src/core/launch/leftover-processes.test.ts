import { expect, it } from 'vitest';
import { mayStartSomething } from './leftover-processes.ts';

it.each([
  ['during a silent tool call', false, 59_000, true],
  ['after a silent minute in its turn', false, 61_000, false],
  ['right after its turn', true, 1_000, true],
  ['some time after its turn', true, 3_000, false],
])('knows whether a process may still start something: %s', (_name, isTurnOver, silentMs, may) => {
  expect(mayStartSomething({ at: new Date(), silentMs, isTurnOver })).toBe(may);
});
