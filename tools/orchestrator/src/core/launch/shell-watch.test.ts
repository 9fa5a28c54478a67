import { selfIdentity } from '@callboard/runtime/process-identity';
import { expect, it, onTestFinished } from 'vitest';
import { watchShells } from './leftover-processes.ts';

it('rests while the process starts nothing, and checks at once when it is woken', async () => {
  let checks = 0;
  const isActive = () => {
    checks++;
    return false;
  };
  const watch = watchShells({ process: await selfIdentity(), isActive, onLeft: () => undefined, known: [] });
  onTestFinished(watch.stop);
  // With a rest of a second before each check, this would take far longer than the test's timeout.
  for (let n = 1; n <= 30; n++) {
    await expect.poll(() => checks, { interval: 2 }).toBeGreaterThanOrEqual(n);
    watch.wake();
  }
});
