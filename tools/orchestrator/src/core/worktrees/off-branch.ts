import type { Elsewhere, Project, Worktree } from '@callboard/contract';
import type { KeyedMutex } from '../../lib/async.ts';
import { Rejection } from '../../lib/errors.ts';
import { pathExists } from '../../platform/files.ts';
import { afterOtherGit, type Git } from '../../platform/git/git.ts';
import { entryOf } from '../../platform/git/locate-checkout.ts';
import { tipOf } from './ensure-worktree.ts';
import { countUncommitted } from './linked-worktrees.ts';
import { isIn } from './merge-plan.ts';
import { operationIn, type SavedWorktree, type SaveOrder, saveWorktree } from './unsaved-work.ts';

/** What to do about a worktree that is not on the stage's branch. */
export interface OffBranch {
  /** Returns where the worktree is, if not on the stage's branch; null if it is. @throws OperationalError `worktree_failed` */
  elsewhere(project: Project, worktree: Worktree): Promise<Elsewhere | null>;
  /**
   * Makes what the worktree is at the stage's branch. No commit becomes unreachable.
   * @returns the name of the branch @throws Rejection `branch_left`, `head_moved`, `no_worktree`
   */
  takeBranch(project: Project, worktree: Worktree, seen: { head?: string | undefined }): Promise<string>;
  /** Sets the worktree back to the stage's branch, and keeps what no ref has. @throws Rejection as `takeBranch` */
  rewind(project: Project, worktree: Worktree, order: { head?: string | undefined; save: SaveOrder }): Promise<Rewound>;
}

export const offBranch = (git: Git, makings: KeyedMutex): OffBranch => ({
  elsewhere: (project, worktree) => elsewhereOf(git, project, worktree),
  takeBranch: (project, worktree, seen) => makings(project.path, () => takeBranch(git, project, worktree, seen)),
  rewind: (project, worktree, order) => makings(project.path, () => returnToBranch(git, project, worktree, order)),
});

/** Returns where a worktree is, if not on the stage's branch; null if it is on it, or its folder is gone. */
export async function elsewhereOf(
  git: Git,
  project: Pick<Project, 'path'>,
  { path, branch: own }: Worktree,
): Promise<Elsewhere | null> {
  if (!(await pathExists(path))) return null;
  const on = await git.try(path, ['symbolic-ref', '--quiet', 'HEAD']);
  if (on.stdout.trim() === `refs/heads/${own}`) return null;
  const at = await git.try(path, ['rev-parse', '--verify', '--quiet', 'HEAD^{commit}']);
  if (at.failed) return null; // the commands that follow say what is wrong
  const head = at.stdout.trim();
  const tip = await tipOf(git, project, own);
  const entry = entryOf(project.path, path);
  const count = async (range: string) => Number(await git.must(path, ['rev-list', '--count', range, '--']));
  return {
    own,
    head,
    tip,
    operation: entry === null ? null : operationIn(entry),
    branch: on.failed ? null : on.stdout.trim().replace(/^refs\/heads\//, ''),
    commits: tip === null ? await count(`HEAD`) : await count(`${tip}..${head}`),
    missing: tip === null ? 0 : await count(`${head}..${tip}`),
    uncommitted: await countUncommitted(git, path),
  };
}

const counted = (n: number, word: string): string => `${n} ${word}${n === 1 ? '' : 's'}`;

/** Says where the worktree is, and what can be done, in whole sentences. */
export function elsewhereText(place: Elsewhere): string {
  const { own, branch, head, tip, operation, commits } = place;
  if (operation === 'rebase' || operation === 'am')
    return `A rebase is half done in the worktree of ${own}, at ${head.slice(0, 7)}. Have Claude finish it, or go back to ${own}: what is there now is kept in the trash.`;
  const where = branch === null ? `on no branch, at ${head.slice(0, 7)}` : `on the branch ${branch}`;
  if (tip === null)
    return `The worktree is ${where}, and the stage's branch ${own} is gone. Take it as the stage's branch.`;
  const more = commits === 0 ? '' : `, with ${counted(commits, 'commit')} that ${own} lacks`;
  const back = branch === null ? 'the commits go to the trash then' : `the commits stay on ${branch} then`;
  const rewind = commits === 0 ? `go back to ${own}` : `go back to ${own}; ${back}`;
  return `The worktree is ${where}, not on the stage's branch ${own}${more}. Take it as the stage's branch, or ${rewind}.`;
}

/** Whether the files of the worktree belong to other commits than those of the stage's branch. */
export const isAway = ({ head, tip, operation }: Elsewhere): boolean => head !== tip || operation !== null;

/** @throws Rejection `branch_left` if the worktree is not at the stage's branch; with `commits`, also if uncommitted files would go elsewhere */
export async function requireOnBranch(
  git: Git,
  project: Pick<Project, 'path'>,
  worktree: Worktree,
  { commits = false }: { commits?: boolean } = {},
): Promise<void> {
  const place = await elsewhereOf(git, project, worktree);
  if (place === null || !(isAway(place) || (commits && place.uncommitted > 0))) return;
  throw new Rejection('branch_left', `${elsewhereText(place)} Nothing was changed.`);
}

/** What a person saw of the worktree. */
interface Seen {
  head?: string | undefined;
}

async function requireElsewhere(git: Git, project: Project, worktree: Worktree, { head }: Seen): Promise<Elsewhere> {
  const { path, branch } = worktree;
  if (!(await pathExists(path))) throw new Rejection('no_worktree', `There is no worktree at ${path} any more.`);
  const lock = await afterOtherGit(git, path);
  if (lock !== null) {
    const text = `Another git process is running in ${path}, or was killed there. If none is running, remove ${lock}.`;
    throw new Rejection('branch_left', `${text} Nothing was changed.`);
  }
  const place = await elsewhereOf(git, project, worktree);
  if (place === null) throw new Rejection('head_moved', `The worktree is on ${branch}. There is nothing to change.`);
  if (head === undefined || head === place.head) return place;
  throw new Rejection('head_moved', 'The worktree has moved since you looked. Nothing was changed. Look again.');
}

/**
 * Makes what the worktree is at the stage's branch: the branch that it is on; without one, the stage's own, moved forward, or, where
 * that has other commits, a new one beside it. Nothing is lost: no commit becomes unreachable.
 * @returns the name of the branch
 * @throws Rejection `branch_left` while a rebase is half done; `head_moved`
 */
async function takeBranch(git: Git, project: Project, worktree: Worktree, seen: Seen): Promise<string> {
  const place = await requireElsewhere(git, project, worktree, seen);
  const { branch, head, tip, own, operation } = place;
  if (operation !== null) {
    const text = `A ${operation === 'am' ? 'rebase' : operation} is half done in the worktree. Have Claude finish it first.`;
    throw new Rejection('branch_left', `${text} Nothing was changed.`);
  }
  if (branch !== null) return branch;
  const isForward = tip === null || (await isIn(git, project.path, tip, head));
  const name = isForward ? own : await freeName(git, project, own);
  await git.must(worktree.path, [
    'update-ref',
    `refs/heads/${name}`,
    head,
    ...(isForward && tip !== null ? [tip] : ['']),
  ]);
  await git.must(worktree.path, ['symbolic-ref', '-m', `callboard: take ${name}`, 'HEAD', `refs/heads/${name}`]);
  return name;
}

async function freeName(git: Git, project: Project, own: string): Promise<string> {
  for (let n = 2; ; n++) if ((await tipOf(git, project, `${own}-${n}`)) === null) return `${own}-${n}`;
}

/** What going back left behind. */
interface Rewound {
  /** The kept work; null if nothing was only in the worktree. */
  kept: (SavedWorktree & { unmerged: number; uncommitted: number }) | null;
  from: Elsewhere;
}

/**
 * Sets the worktree back to the stage's branch. Keeps what no branch has first. Uncommitted changes come along, or git refuses; with
 * a half-done rebase, they are kept.
 * @throws Rejection `branch_left` if the branch is gone or git refuses; nothing was changed then. `head_moved`
 */
async function returnToBranch(
  git: Git,
  project: Project,
  worktree: Worktree,
  { head, save }: Seen & { save: SaveOrder },
): Promise<Rewound> {
  const from = await requireElsewhere(git, project, worktree, { head });
  const { path, branch: own } = worktree;
  if (from.tip === null) throw new Rejection('branch_left', `${elsewhereText(from)} Nothing was changed.`);
  const aborts = from.operation === 'rebase' || from.operation === 'am';
  const loose = await unreferencedCommits(git, path);
  const isSaved = loose > 0 || aborts;
  const saved = isSaved
    ? await saveWorktree(git, path, { ...save, repository: project.path, listsIgnored: true })
    : null;
  const back = aborts ? [from.operation ?? 'rebase', '--abort'] : ['checkout', '--quiet', own, '--'];
  const done = await git.try(path, back);
  const now = await git.try(path, ['symbolic-ref', '--quiet', '--short', 'HEAD']);
  if (now.stdout.trim() === own)
    return {
      kept: saved === null ? null : { ...saved, unmerged: loose, uncommitted: aborts ? from.uncommitted : 0 },
      from,
    };
  if (saved !== null) await git.must(project.path, ['update-ref', '-d', save.ref, saved.commit]);
  const text = `Git did not go back to ${own}, and nothing was changed. Commit the open changes, or have Claude do so, then try again.`;
  throw new Rejection('branch_left', `${text}\n${[done.stderr, done.stdout].join('\n')}`.trim());
}

/** Counts the commits of `HEAD` that no ref has. */
async function unreferencedCommits(git: Git, path: string): Promise<number> {
  const list = [
    'rev-list',
    '--count',
    'HEAD',
    '--not',
    '--exclude=refs/callboard/*',
    '--branches',
    '--tags',
    '--remotes',
    '--',
  ];
  return Number(await git.must(path, list));
}
