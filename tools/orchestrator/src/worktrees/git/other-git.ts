import { readdir, readFile, readlink } from 'node:fs/promises';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Rejection } from '../../lib/errors.ts';
import { pathExists } from '../../lib/path-exists.ts';
import type { Git } from './git.ts';

/** How long another git may hold the index before a person hears of it: an editor that looks at the status holds it for a moment. */
const PATIENCE_MS = 5_000;
const BETWEEN_CHECKS_MS = 50;

/** Waits until no other git holds the index of a checkout, for five seconds at most. @returns the path of the lock if one still does */
export async function afterOtherGit(git: Pick<Git, 'try'>, checkout: string): Promise<string | null> {
  if (!(await pathExists(checkout))) return null;
  const { failed, stdout } = await git.try(checkout, ['rev-parse', '--git-path', 'index.lock']);
  if (failed) return null; // what comes next says why
  const lock = resolve(checkout, stdout.trim());
  const end = performance.now() + PATIENCE_MS;
  while (await pathExists(lock)) {
    if (performance.now() >= end) return lock;
    await sleep(BETWEEN_CHECKS_MS);
  }
  return null;
}

/** As `afterOtherGit`, for a merge into a main checkout. @throws Rejection with the code if another git still holds it */
export async function requireNoOtherGit(
  git: Pick<Git, 'try'>,
  checkout: string,
  code: 'merge_refused' | 'undo_refused' = 'merge_refused',
): Promise<void> {
  const lock = await afterOtherGit(git, checkout);
  if (lock === null) return;
  const message = `Another git process is running in the main checkout at ${checkout}, or was killed there. Wait for it to finish; if none is running, remove ${lock}, then try again.`;
  throw new Rejection(code, message);
}

/** Whether any git, which may hold a lock, works in a checkout, for five seconds at least. Needs `/proc`; without it none is found. */
export async function isGitRunningIn(checkout: string): Promise<boolean> {
  const end = performance.now() + PATIENCE_MS;
  while (await findGitIn(checkout)) {
    if (performance.now() >= end) return true;
    await sleep(BETWEEN_CHECKS_MS);
  }
  return false;
}

async function findGitIn(checkout: string): Promise<boolean> {
  const names = await readdir('/proc').catch(() => []);
  for (const pid of names.filter((name) => /^\d+$/.test(name))) {
    const name = await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '');
    if (!name.startsWith('git')) continue;
    const folder = await readlink(`/proc/${pid}/cwd`).catch(() => '');
    if (`${folder}/`.startsWith(`${checkout}/`)) return true;
  }
  return false;
}
