import { access, cp, mkdir, realpath } from 'node:fs/promises';
import { dirname, join, matchesGlob } from 'node:path';
import type {
  ChangeCounts,
  GitSettingItem,
  Project,
  RepositoryHook,
  StageDiff,
  StageId,
  Worktree,
} from '@callboard/contract';
import { Rejection } from '../lib/errors.ts';
import { createTurns } from '../lib/turns.ts';
import { countsOf, diffOf } from './diff.ts';
import { createFileLists } from './file-lists.ts';
import { firstSeen } from './first-seen.ts';
import type { Repositories } from './git-guard.ts';
import { knownWorktree, removeHalfMade } from './known-worktree.ts';
import { mergeInto, requireMergeable } from './merge.ts';
import { rankFiles } from './rank-files.ts';
import { allowRulesOf, hooksOf } from './repository-settings.ts';
import { createGit } from './run-git.ts';

export interface WorktreesParts {
  dataDir: string;
  /** The user's environment, for git. */
  env: Record<string, string>;
  /** What was agreed to of each repository's git settings; by default what stands there when git is first called in it. */
  repositories?: Repositories;
}

/** One worktree and branch a stage: `<data-dir>/worktrees/<project>/<stage>`, `callboard/<stage-id>`. */
export interface Worktrees {
  /**
   * The top folder of the repository that `path` lies in.
   * @throws Rejection `not_a_repository`, `no_commits`
   */
  inspect(path: string): Promise<{ root: string }>;
  /**
   * Makes the stage's worktree from the repository's current commit, with copies of the project's listed ignored files,
   * or finds the one that is there. One that git was making when it was killed is made anew.
   *
   * @param isRecorded whether it was once made to its end; files to be copied are missing only where it was not.
   * @throws OperationalError `worktree_failed` with git's own words
   */
  ensure(project: Project, stageId: StageId, isRecorded: boolean): Promise<Worktree>;
  /** What was changed since the base. @throws OperationalError `worktree_failed` */
  diff(worktree: Worktree): Promise<StageDiff>;
  /** How much was changed since the base. @throws OperationalError `worktree_failed`, also when the signal aborts */
  countChanges(worktree: Worktree, signal: AbortSignal): Promise<ChangeCounts>;
  /**
   * Paths in the worktree that fit what was typed, at most twenty, the best first; those that git ignores are left out.
   * A list may be five seconds old. @throws OperationalError `worktree_failed`
   */
  suggestFiles(worktree: Worktree, query: string): Promise<string[]>;
  /**
   * Merges the stage's branch into the branch that the main checkout is on, and leaves the checkout untouched if it cannot.
   * @throws Rejection `uncommitted_work`, `merge_refused`, `merge_conflict`
   */
  merge(project: Project, worktree: Worktree): Promise<void>;
  /** Refuses what `merge` would refuse, as far as that can be seen beforehand. @throws as `merge` */
  requireMergeable(project: Project, worktree: Worktree): Promise<void>;
  /** The repository's own allow rules, which Claude Code ignores in a worktree that nobody has trusted in a terminal. */
  allowRules(project: Project): Promise<string[]>;
  /** The hooks that Claude Code would run in a worktree (null: in one made now), trusted or not, from the repository's settings files. */
  hooks(project: Project, worktree: Worktree | null): Promise<RepositoryHook[]>;
  /** What of the repository's git settings nobody has agreed to, looked at now. @throws OperationalError `worktree_failed` */
  gitSettings(project: Project): Promise<readonly GitSettingItem[]>;
  /** Removes a worktree that has nothing to lose. What is not committed, or not merged, stays; the answer says what. */
  removeIfSafe(project: Project, worktree: Worktree): Promise<{ left: string | null }>;
}

/** As many as a list beneath a text box can show. */
const SUGGESTED = 20;

export function createWorktrees({ dataDir, env, repositories = firstSeen() }: WorktreesParts): Worktrees {
  const git = createGit({ env, repositories, hooksBase: join(dataDir, 'git-hooks') });
  const files = createFileLists(git);
  /** By main checkout: two merges at once would see, and take back, each other's work. */
  const merges = createTurns();
  /** By main checkout: git reads its notes of all worktrees when it makes one, and fails over one that is just being made (seen). */
  const makings = createTurns();

  async function copyIgnored(project: Project, path: string): Promise<void> {
    const { copyIgnored: globs } = project.settings;
    if (globs.length === 0) return;
    const ignored = await git.must(project.path, ['ls-files', '--others', '--ignored', '--exclude-standard', '-z']);
    for (const file of ignored.split('\0')) {
      if (file === '' || !globs.some((glob) => matchesGlob(file, glob))) continue;
      await mkdir(dirname(join(path, file)), { recursive: true });
      await cp(join(project.path, file), join(path, file), { errorOnExist: false, force: false });
    }
  }

  /** True when it was not there. */
  async function makeIfMissing(project: Project, path: string, branch: string): Promise<boolean> {
    const known = await knownWorktree(git, project.path, path);
    if (known === 'half-made') await removeHalfMade(git, project.path, path);
    if (known === 'whole' && (await isThere(path))) return false;
    const force = known === 'whole' ? ['--force'] : []; // git still knows of it, though somebody deleted its folder
    const isBranch = await git.try(project.path, ['rev-parse', '--verify', '--quiet', `refs/heads/${branch}`]);
    const target = isBranch.failed ? ['-b', branch, path] : [path, branch];
    await git.must(project.path, ['worktree', 'add', ...force, ...target]);
    return true;
  }

  async function remove(project: Project, worktree: Worktree): Promise<{ left: string | null }> {
    // Without --force: git refuses to remove a worktree with changes or untracked files, and a branch that is not merged.
    const removal = await git.try(project.path, ['worktree', 'remove', worktree.path]);
    if (removal.failed) return { left: `The worktree ${worktree.path} was left where it is: ${removal.stderr}` };
    const branch = await git.try(project.path, ['branch', '-d', worktree.branch]);
    return { left: branch.failed ? `The branch ${worktree.branch} was kept: it has work that is not merged.` : null };
  }

  return {
    async inspect(path) {
      if (!(await isThere(path))) throw new Rejection('not_a_repository', `There is no folder ${path}.`);
      const top = await git.try(path, ['rev-parse', '--show-toplevel']);
      if (top.failed) {
        const advice = 'Run "git init" there and make a first commit, or choose another folder.';
        throw new Rejection('not_a_repository', `${path} is not a git repository. ${advice}`);
      }
      const root = await realpath(top.stdout.trim());
      const head = await git.try(root, ['rev-parse', '--verify', 'HEAD^{commit}']);
      if (head.failed) {
        const advice = 'so no worktree can be made from it. Make a first commit.';
        throw new Rejection('no_commits', `The repository at ${root} has no commit yet, ${advice}`);
      }
      return { root };
    },

    async ensure(project, stageId, isRecorded) {
      const parent = join(dataDir, 'worktrees', project.id);
      const branch = `callboard/${stageId}`;
      await mkdir(parent, { recursive: true, mode: 0o700 });
      const path = join(await realpath(parent), stageId); // git lists worktrees by their real paths
      const isMissing = await makings(project.path, () => makeIfMissing(project, path, branch));
      if (isMissing || !isRecorded) await copyIgnored(project, path);
      return { path, branch, base: await git.must(project.path, ['merge-base', 'HEAD', branch]) };
    },

    diff: (worktree) => diffOf(git, worktree),
    countChanges: (worktree, signal) => countsOf(git.until(signal), worktree),
    suggestFiles: async ({ path }, query) => rankFiles(await files(path), query, SUGGESTED),
    requireMergeable: async (project, worktree) => void (await requireMergeable(git, project, worktree)),
    merge: (project, worktree) => merges(project.path, () => mergeInto(git, project, worktree)),

    allowRules: (project) => allowRulesOf(project.path),
    gitSettings: (project) => git.look(project.path),
    hooks: (project, worktree) => hooksOf(project.path, worktree?.path ?? null),

    removeIfSafe: (project, worktree) => makings(project.path, () => remove(project, worktree)),
  };
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
