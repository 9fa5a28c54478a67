import { closeSync, constants, lstatSync, openSync, readSync, realpathSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { OperationalError } from '../../lib/errors.ts';

/** Where the parts of a checkout lie. */
export interface CheckoutLocation {
  /** The top of the checkout. */
  root: string;
  gitDir: string;
  /** What all checkouts of the repository share: configuration, objects, hooks. */
  commonDir: string;
  /** `.git` is a folder, as in a plain clone. */
  isPlain: boolean;
}

/**
 * The repository whose checkout has its top at `root`; null: there is none. Synchronous, as it is looked up before each call of
 * git: the kernel answers at once, in a tenth of what asking a thread costs.
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
 * The worktree of a stage, which has to belong to the repository that it was made from: whoever rewrites its `.git` file
 * could otherwise lead our git to a configuration of their own.
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
  const words = place === null ? 'is missing or leads nowhere' : `leads to ${place.gitDir}`;
  const message = `The file ${join(folder, '.git')} ${words}, and not to the repository at ${main.root}. Put it right with: git -C ${main.root} worktree repair ${folder}`;
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

/** More is no path. */
const LONGEST = 16 * 1024;

/** Whoever works in the checkout may have put a pipe there, or a file without an end: neither may hold us up. */
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
