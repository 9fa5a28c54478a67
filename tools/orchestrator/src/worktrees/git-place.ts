import { lstat, readFile, realpath } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { OperationalError } from '../lib/errors.ts';

/** Where the parts of a checkout lie. */
export interface GitPlace {
  /** The top of the checkout. */
  root: string;
  gitDir: string;
  /** What all checkouts of the repository share: configuration, objects, hooks. */
  commonDir: string;
  /** `.git` is a folder, as in a plain clone. */
  isPlain: boolean;
}

/** The repository whose checkout has its top at `root`; null: there is none. */
export async function locate(root: string): Promise<GitPlace | null> {
  const dotGit = join(root, '.git');
  const stat = await lstat(dotGit).catch(() => null);
  if (stat === null) return null;
  if (stat.isDirectory()) return { root, gitDir: dotGit, commonDir: dotGit, isPlain: true };
  const gitDir = stat.isSymbolicLink() ? await real(dotGit) : await real(await target(root, dotGit));
  if (gitDir === null) return null;
  const common = (await textOf(join(gitDir, 'commondir')))?.trim();
  const commonDir = common === undefined ? gitDir : await real(resolve(gitDir, common));
  return commonDir === null ? null : { root, gitDir, commonDir, isPlain: false };
}

/**
 * The worktree of a stage, which has to belong to the repository that it was made from: whoever rewrites its `.git` file
 * could otherwise lead our git to a configuration of their own.
 * @throws OperationalError `worktree_failed`
 */
export async function locateWorktree(folder: string, main: GitPlace): Promise<GitPlace> {
  const place = await locate(folder);
  const admin = await real(join(main.commonDir, 'worktrees'));
  const back = place === null ? undefined : (await textOf(join(place.gitDir, 'gitdir')))?.trim();
  const isOurs =
    place !== null &&
    place.commonDir === (await real(main.commonDir)) &&
    dirname(place.gitDir) === admin &&
    back !== undefined &&
    resolve(place.gitDir, back) === join(folder, '.git');
  if (place !== null && isOurs) return { ...place, commonDir: main.commonDir };
  const words = place === null ? 'is missing or leads nowhere' : `leads to ${place.gitDir}`;
  const message = `The file ${join(folder, '.git')} ${words}, and not to the repository at ${main.root}. Put it right with: git -C ${main.root} worktree repair ${folder}`;
  throw new OperationalError('worktree_failed', message);
}

async function target(root: string, dotGit: string): Promise<string> {
  const [, path = ''] = /^gitdir: (.*)/.exec((await textOf(dotGit)) ?? '') ?? [];
  return path === '' ? join(root, 'nowhere') : resolve(root, path);
}

const real = (path: string): Promise<string | null> => realpath(path).catch(() => null);
const textOf = (file: string): Promise<string | undefined> => readFile(file, 'utf8').catch(() => undefined);
