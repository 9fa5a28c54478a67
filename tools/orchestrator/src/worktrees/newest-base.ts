import type { Project } from '@callboard/contract';
import { OperationalError } from '../lib/errors.ts';
import type { Git } from './git/git.ts';

/** Where new stages begin, and how that is brought up to date. */
export interface BaseRequest {
  /** Null: the branch that the main checkout is on. */
  base: string | null;
  /** Fetch first, and begin at what the remote has, unless the local branch has commits of its own. */
  fetch: boolean;
}

/**
 * Returns the revision at which a new stage begins; null: the current commit of the main checkout.
 * @throws OperationalError `fetch_failed`
 */
export async function newestBase(git: Git, { path }: Pick<Project, 'path'>, wish: BaseRequest): Promise<string | null> {
  if (!wish.fetch) return wish.base;
  const { upstream } = await followed(git, path, wish);
  const remote = await remoteOf(git, path, upstream ?? wish.base);
  if (remote === null) throw failed('The repository has no remote to fetch from.');
  const fetched = await git.try(path, ['fetch', '--quiet', '--no-write-fetch-head', '--', remote]);
  if (fetched.failed) throw failed(`git fetch ${remote} failed:\n${fetched.stderr.trim()}`);
  return knownBase(git, { path }, wish);
}

/** As `newestBase`, by what was fetched last. */
export async function knownBase(git: Git, { path }: Pick<Project, 'path'>, wish: BaseRequest): Promise<string | null> {
  if (!wish.fetch) return wish.base;
  const { branch, upstream } = await followed(git, path, wish);
  if (upstream === null || branch === null) return wish.base;
  const isBehind = !(await git.try(path, ['merge-base', '--is-ancestor', branch, upstream])).failed;
  return isBehind ? upstream : wish.base;
}

/** The local branch that a stage would begin at, and the remote one that it follows. */
async function followed(
  git: Git,
  path: string,
  { base }: BaseRequest,
): Promise<{ branch: string | null; upstream: string | null }> {
  const current = await git.try(path, ['symbolic-ref', '--short', '--quiet', 'HEAD']);
  const branch = base ?? (current.failed ? null : current.stdout.trim());
  return { branch, upstream: branch === null ? null : await upstreamOf(git, path, branch) };
}

/** The remote branch that a local branch follows; null if it follows none. */
async function upstreamOf(git: Git, path: string, branch: string): Promise<string | null> {
  if (branch.startsWith('-') || branch.includes('@')) return null;
  const found = await git.try(path, ['rev-parse', '--abbrev-ref', '--symbolic-full-name', `${branch}@{upstream}`]);
  const name = found.stdout.trim();
  return found.failed || name === '' ? null : name;
}

/** The remote whose branch it is, or `origin`, or the only one. */
async function remoteOf(git: Git, path: string, base: string | null): Promise<string | null> {
  const remotes = (await git.must(path, ['remote'])).split('\n').filter((name) => name !== '');
  const own = remotes.find((name) => base?.startsWith(`${name}/`));
  return own ?? (remotes.includes('origin') ? 'origin' : remotes.length === 1 ? (remotes[0] ?? null) : null);
}

const failed = (why: string): OperationalError =>
  new OperationalError('fetch_failed', `The stage was not started, because nothing could be fetched first. ${why}`);
