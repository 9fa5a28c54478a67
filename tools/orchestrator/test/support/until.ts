import { setTimeout as sleep } from 'node:timers/promises';

const PATIENCE_MS = 60_000;

/** Resolves once the condition holds: for what tells nobody when it happens. */
export async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`waited in vain until ${what}`);
    await sleep(2);
  }
}
