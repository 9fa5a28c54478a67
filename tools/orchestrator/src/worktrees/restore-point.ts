import { rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pathExists } from '../lib/path-exists.ts';
import type { Git } from './git/git.ts';
import { requireNoOtherGit } from './git/other-git.ts';

/** The limit of paths in one call of git, since command lines are limited in length. */
const PATHS_PER_CALL = 500;

/**
 * Records the state of a checkout without changed tracked files, and returns a function that restores it after a failed merge of
 * `commit`. That function resolves with what could not be restored; null if everything was.
 * @throws Rejection `merge_refused` if another git has locked it
 */
export async function createRestorePoint(
  git: Git,
  checkout: string,
  commit: string,
): Promise<(wasKilled: boolean) => Promise<string | null>> {
  const head = await git.must(checkout, ['rev-parse', 'HEAD']);
  const lock = resolve(checkout, await git.must(checkout, ['rev-parse', '--git-path', 'index.lock']));
  await requireNoOtherGit(git, checkout);
  const touched = parsePaths(
    await git.must(checkout, ['diff', '--name-only', '-z', '--no-renames', `${head}...${commit}`]),
  );
  const tracked = new Set(parsePaths(await git.must(checkout, ['ls-files', '-z'])));
  const missing: string[] = [];
  for (const path of touched) if (!tracked.has(path) && !(await pathExists(join(checkout, path)))) missing.push(path);

  /** Removes what a killed git left: its lock, and files that it had written but not added to the index. */
  async function cleanUpAfterKill(): Promise<void> {
    await rm(lock, { force: true });
    await git.try(checkout, ['merge', '--abort']);
    for (const path of missing) await rm(join(checkout, path), { force: true });
    const known = touched.filter((path) => tracked.has(path));
    for (let at = 0; at < known.length; at += PATHS_PER_CALL) {
      const paths = known.slice(at, at + PATHS_PER_CALL);
      // A name may begin with ":" or contain "*", which git would take for a pattern.
      await git.try(checkout, ['--literal-pathspecs', 'checkout', '--quiet', head, '--', ...paths]);
    }
  }

  return async (wasKilled) => {
    await git.try(checkout, ['merge', '--abort']);
    if (wasKilled && (await whatDiffers()) !== null) await cleanUpAfterKill();
    return whatDiffers();
  };

  async function whatDiffers(): Promise<string | null> {
    const now = await git.try(checkout, ['rev-parse', 'HEAD']);
    if (now.stdout.trim() !== head) return `it is at ${now.stdout.trim()}`;
    const changed = await git.try(checkout, ['status', '--porcelain', '--untracked-files=no']);
    if (changed.failed) return changed.stderr;
    if (changed.stdout.trim() !== '') return changed.stdout.trim().split('\n').slice(0, 5).join(', ');
    for (const path of missing) if (await pathExists(join(checkout, path))) return path;
    return (await pathExists(lock)) ? lock : null;
  }
}

const parsePaths = (output: string): string[] => output.split('\0').filter((path) => path !== '');
