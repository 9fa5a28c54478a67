import { expect, it } from 'vitest';
import { shareRuns } from './async.ts';

it('gives all calls during a run the next one, so no result is older than its call', async () => {
  const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let state = 'old';
  let runs = 0;
  const check = shareRuns(async () => {
    const seen = state;
    await gates[runs++]?.promise;
    return seen;
  });
  const first = check();
  await Promise.resolve();
  state = 'new';
  const others = [check(), check(), check()];
  for (const gate of gates) gate.resolve();
  expect(await first).toBe('old');
  expect(await Promise.all(others)).toEqual(['new', 'new', 'new']);
  expect(runs).toBe(2);
});

it('runs again after a failure, and rejects only the calls that shared the failed run', async () => {
  let runs = 0;
  const check = shareRuns(async () => {
    if (++runs === 1) throw new Error('no');
    return runs;
  });
  await expect(check()).rejects.toThrow('no');
  expect(await check()).toBe(2);
});
