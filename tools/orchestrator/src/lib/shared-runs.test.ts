import { expect, it } from 'vitest';
import { shareRuns } from './shared-runs.ts';

it('gives all who call during a run the one after it, so that nobody gets a look from before the call', async () => {
  const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let state = 'old';
  let runs = 0;
  const look = shareRuns(async () => {
    const seen = state;
    await gates[runs++]?.promise;
    return seen;
  });
  const first = look();
  await Promise.resolve();
  state = 'new';
  const others = [look(), look(), look()];
  for (const gate of gates) gate.resolve();
  expect(await first).toBe('old');
  expect(await Promise.all(others)).toEqual(['new', 'new', 'new']);
  expect(runs).toBe(2);
});

it('runs again after a failure, which only those hear of who asked for that run', async () => {
  let runs = 0;
  const look = shareRuns(async () => {
    if (++runs === 1) throw new Error('no');
    return runs;
  });
  await expect(look()).rejects.toThrow('no');
  expect(await look()).toBe(2);
});
