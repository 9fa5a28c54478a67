import { Rejection } from '../lib/errors.ts';
import type { Git } from './git/git.ts';
import { NO_REPLACEMENTS } from './git/no-replacements.ts';
import { mergeOnto } from './three-way-merge.ts';

/** A commit whose changes are applied on top of others. */
export interface ReplayedCommit {
  commit: string;
  /** The commit before it, and the tree of all files once it is applied. */
  parent: string;
  tree: string;
}

/** What a rebase would make. */
export interface Replay {
  commits: ReplayedCommit[];
  /** The tree of all files at the end; up to the conflict if there is one. */
  tree: string;
  conflicts: string[];
  stoppedAt: { commit: string; subject: string } | null;
}

/** What to rebase: the commits of `head` that neither `onto` nor `since` has. */
export interface ReplayRange {
  onto: string;
  head: string;
  since: string | null;
}

/**
 * Applies commits one by one to the newest of another branch, as `git rebase` does: without merge commits and without what the
 * other branch has already; commits that change nothing are left out. Only adds objects.
 * @throws Rejection `merge_refused`; OperationalError `worktree_failed`
 */
export async function replay(git: Git, folder: string, range: ReplayRange): Promise<Replay> {
  const treeOf = (commit: string) => git.must(folder, ['rev-parse', '--verify', `${commit}^{tree}`], NO_REPLACEMENTS);
  const original = new Map<string, string>();
  const made: Replay = { commits: [], tree: await treeOf(range.onto), conflicts: [], stoppedAt: null };
  for (const { commit, tree, parent, subject } of await listCommits(git, folder, range)) {
    if (parent === undefined) {
      const message = `${commit.slice(0, 7)} (${subject}) has no commit before it, so it cannot be rebased. Merge or squash the branch instead.`;
      throw new Rejection('merge_refused', message);
    }
    original.set(commit, tree);
    const before = original.get(parent) ?? (await treeOf(parent));
    if (tree === before || tree === made.tree) continue;
    let now = tree;
    if (before !== made.tree) {
      const merged = await mergeOnto(git, folder, { base: parent, tree: made.tree, theirs: commit });
      if (merged.conflicts.length > 0)
        return { ...made, conflicts: merged.conflicts, stoppedAt: { commit, subject: subject.slice(0, 200) } };
      now = merged.tree;
    }
    if (now === made.tree) continue;
    made.commits.push({ commit, parent, tree: now });
    made.tree = now;
  }
  return made;
}

interface Listed {
  commit: string;
  tree: string;
  parent: string | undefined;
  subject: string;
}

async function listCommits(git: Git, folder: string, { onto, head, since }: ReplayRange): Promise<Listed[]> {
  const which = ['--reverse', '--topo-order', '--no-merges', '--cherry-pick', '--right-only'];
  const not = since === null ? [] : [`^${since}`];
  const args = ['rev-list', ...which, '--format=%T%x00%P%x00%s', `${onto}...${head}`, ...not];
  const lines = (await git.must(folder, args, NO_REPLACEMENTS)).split('\n').filter((line) => line !== '');
  const listed: Listed[] = [];
  for (let at = 0; at < lines.length; at += 2) {
    const [tree = '', parents = '', subject = ''] = (lines[at + 1] ?? '').split('\0');
    const parent = parents.split(' ')[0] || undefined;
    listed.push({ commit: (lines[at] ?? '').replace(/^commit /, ''), tree, parent, subject });
  }
  return listed;
}
