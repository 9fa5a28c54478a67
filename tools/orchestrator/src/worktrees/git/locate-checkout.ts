import { closeSync, constants, lstatSync, openSync, readSync, realpathSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { OperationalError } from '../../lib/errors.ts';

/** The folders of a checkout. */
export interface CheckoutLocation {
  /** The top of the checkout. */
  root: string;
  gitDir: string;
  /** Shared by all checkouts of the repository: configuration, objects, hooks. */
  commonDir: string;
  /** `.git` is a folder, as in a plain clone. */
  isPlain: boolean;
}

/**
 * Returns the folders of the checkout whose top is `root`; null if there is none. Synchronous, because it runs before each call
 * of git: the kernel answers at once, and a thread would cost ten times as much.
 */
export function locateCheckout(root: string): CheckoutLocation | null {
  const dotGit = join(root, '.git');
  const stat = tryOrUndefined(() => lstatSync(dotGit, { throwIfNoEntry: false }));
  if (stat === undefined) return null;
  if (stat.isDirectory()) return { root, gitDir: dotGit, commonDir: dotGit, isPlain: true };
  const gitDir = stat.isSymbolicLink() ? real(dotGit) : real(target(root, dotGit));
  if (gitDir === null) return null;
  const common = textOf(join(gitDir, 'commondir'))?.trim();
  const commonDir = common === undefined ? gitDir : real(resolve(gitDir, common));
  return commonDir === null ? null : { root, gitDir, commonDir, isPlain: false };
}

/**
 * Returns the folders of a stage's worktree. It must belong to the repository that it was created from: otherwise whoever
 * rewrites its `.git` file could point our git to a configuration of their own.
 * @throws OperationalError `worktree_failed`
 */
export function locateWorktree(folder: string, main: CheckoutLocation): CheckoutLocation {
  const place = locateCheckout(folder);
  const admin = real(join(main.commonDir, 'worktrees'));
  const back = place === null ? undefined : textOf(join(place.gitDir, 'gitdir'))?.trim();
  const isOurs =
    place !== null &&
    place.commonDir === real(main.commonDir) &&
    dirname(place.gitDir) === admin &&
    back !== undefined &&
    resolve(place.gitDir, back) === join(folder, '.git');
  if (place !== null && isOurs) return { ...place, commonDir: main.commonDir };
  const words = place === null ? 'is missing or points nowhere' : `points to ${place.gitDir}`;
  const message = `The file ${join(folder, '.git')} ${words} instead of the repository at ${main.root}. Repair it with: git -C ${main.root} worktree repair ${folder}`;
  throw new OperationalError('worktree_failed', message);
}

function target(root: string, dotGit: string): string {
  const [, path = ''] = /^gitdir: (.*)/.exec(textOf(dotGit) ?? '') ?? [];
  return path === '' ? join(root, 'nowhere') : resolve(root, path);
}

function tryOrUndefined<T>(ask: () => T): T | undefined {
  try {
    return ask();
  } catch {
    return undefined;
  }
}

const real = (path: string): string | null => tryOrUndefined(() => realpathSync.native(path)) ?? null;

/** Paths are shorter. */
const LONGEST = 16 * 1024;

/** Programs in the checkout may have put a pipe or an endless file there: neither may block us. */
const textOf = (file: string): string | undefined =>
  tryOrUndefined(() => {
    const fd = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const text = Buffer.alloc(LONGEST);
      return text.toString('utf8', 0, readSync(fd, text));
    } finally {
      closeSync(fd);
    }
  });

/** Returns the variables that keep git from searching for its repository, and its configuration, anywhere else. */
export const pinned = ({ root, gitDir, commonDir }: CheckoutLocation): Record<string, string> => ({
  GIT_DIR: gitDir,
  GIT_WORK_TREE: root,
  ...(commonDir === gitDir ? {} : { GIT_COMMON_DIR: commonDir }),
});
