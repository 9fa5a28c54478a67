import { setTimeout as sleep } from 'node:timers/promises';
import { pathExists } from '../../lib/path-exists.ts';

/** How long another git may hold the index before a person hears of it: an editor that asks for the status holds it for a moment. */
const PATIENCE_MS = 5_000;
const BETWEEN_LOOKS_MS = 50;

/** Waits until no other git holds an index, for five seconds at most. Never rejects. @param lock the path of its lock file */
export async function afterOtherGit(lock: string): Promise<void> {
  const end = performance.now() + PATIENCE_MS;
  while ((await pathExists(lock)) && performance.now() < end) await sleep(BETWEEN_LOOKS_MS);
}
