import { selfIdentity } from '@callboard/runtime/process-identity';
import { expect, it, onTestFinished } from 'vitest';
import { watchShells } from './shell-watch.ts';

it('rests while the process starts nothing, and looks at once when it is stirred', async () => {
  let looks = 0;
  const isActive = () => {
    looks++;
    return false;
  };
  const watch = watchShells({ process: await selfIdentity(), isActive, onLeft: () => undefined, known: [] });
  onTestFinished(watch.stop);
  // After a second each, this would take far longer than a test may.
  for (let n = 1; n <= 30; n++) {
    await expect.poll(() => looks, { interval: 2 }).toBeGreaterThanOrEqual(n);
    watch.stir();
  }
});
