import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathExists } from '../../lib/path-exists.ts';
import type { Git } from './git.ts';

/** How long another git may hold the index before a person hears of it: an editor that asks for the status holds it for a moment. */
const PATIENCE_MS = 5_000;
const BETWEEN_LOOKS_MS = 50;

/** Waits until no other git holds the index of a checkout, for five seconds at most. Never rejects. */
export async function afterOtherGit(git: Pick<Git, 'try'>, checkout: string): Promise<void> {
  if (!(await pathExists(checkout))) return;
  const { failed, stdout } = await git.try(checkout, ['rev-parse', '--git-path', 'index.lock']);
  if (failed) return; // what comes next says why
  const lock = resolve(checkout, stdout.trim());
  const end = performance.now() + PATIENCE_MS;
  while ((await pathExists(lock)) && performance.now() < end) await sleep(BETWEEN_LOOKS_MS);
}
