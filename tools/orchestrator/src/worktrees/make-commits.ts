import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Rejection } from '../lib/errors.ts';
import type { Git } from './git/git.ts';
import { NO_REPLACEMENTS } from './git/no-replacements.ts';
import { identityOptions } from './merge-plan.ts';
import type { ReplayedCommit } from './replay.ts';
import { prepareSigning } from './signing.ts';

/** A commit that is to be made: of these files, after its parents. */
interface NewCommit {
  tree: string;
  parents: readonly string[];
  message: string;
  /** Variables that name another author. */
  author?: Record<string, string>;
}

/** Makes commits that nothing points at yet, as the person, signed if the configuration says so. */
export interface CommitMaker {
  /** Runs the hooks `prepare-commit-msg` and `commit-msg`, as `git merge` does. */
  merge(commit: Omit<NewCommit, 'author'>): Promise<string>;
  squash(commit: Omit<NewCommit, 'author'>): Promise<string>;
  /** Returns the newest commit. Authors, their dates and messages stay; a commit that would be the same is used as it is. */
  rebase(commits: readonly ReplayedCommit[], onto: string): Promise<string>;
}

/** @throws (all functions of the maker) Rejection `merge_refused` with git's reason, for example that it cannot sign */
export function createCommitMaker(git: Git, folder: string): CommitMaker {
  async function make(
    { tree, parents, message, author = {} }: NewCommit,
    edit: (file: string) => Promise<unknown> = async () => undefined,
  ): Promise<string> {
    const signing = await prepareSigning(git, folder, 'merge_refused');
    const temporary = await mkdtemp(join(tmpdir(), 'callboard-message-'));
    try {
      const file = join(temporary, 'message');
      await writeFile(file, message);
      await edit(file);
      const options = [
        ...(await identityOptions(git, folder)),
        '-c',
        'i18n.commitEncoding=UTF-8',
        ...(signing?.options ?? []),
      ];
      const sign = signing === null ? [] : ['-S'];
      const args = [
        ...options,
        'commit-tree',
        ...sign,
        tree,
        ...parents.flatMap((parent) => ['-p', parent]),
        '-F',
        file,
      ];
      const env = { ...NO_REPLACEMENTS, ...author, ...signing?.env };
      const made = await git.try(folder, args, env, signing?.timeoutMs);
      if (!made.failed) return made.stdout.trim();
      const why = await signing?.explain(made);
      if (why != null) throw new Rejection('merge_refused', `Nothing was merged. ${why}`);
      throw new Rejection(
        'merge_refused',
        `Git could not make the commit, so nothing was merged.\n${made.stderr}`.trim(),
      );
    } finally {
      await signing?.close();
      await rm(temporary, { recursive: true, force: true });
    }
  }

  async function runMessageHooks(file: string): Promise<void> {
    for (const [hook, ...args] of [['prepare-commit-msg', file, 'merge'] as const, ['commit-msg', file] as const]) {
      const ran = await git.try(folder, ['hook', 'run', '--ignore-missing', hook, '--', ...args]);
      if (!ran.failed) continue;
      const text = `The hook ${hook} refused the merge, so nothing was merged.\n${ran.stderr || ran.stdout}`;
      throw new Rejection('merge_refused', text.trim());
    }
  }

  return {
    merge: (commit) => make(commit, runMessageHooks),
    squash: (commit) => make(commit),
    async rebase(commits, onto) {
      let newest = onto;
      for (const { commit, parent, tree } of commits) {
        if (parent === newest)
          newest = commit; // nothing before it has changed
        else newest = await make({ tree, parents: [newest], ...(await describe(git, folder, commit)) });
      }
      return newest;
    },
  };
}

async function describe(git: Git, folder: string, commit: string): Promise<Pick<NewCommit, 'message' | 'author'>> {
  const form = ['--no-walk', '--encoding=UTF-8', '--date=raw', '--format=%an%x00%ae%x00%ad%x00%B'];
  const reported = await git.try(folder, ['rev-list', ...form, commit], NO_REPLACEMENTS);
  if (reported.failed)
    throw new Rejection(
      'merge_refused',
      `Git could not read the commit ${commit}, so nothing was merged.\n${reported.stderr}`.trim(),
    );
  const text = reported.stdout.slice(reported.stdout.indexOf('\n') + 1); // after "commit <id>"
  const [name = '', email = '', date = '', ...message] = text.split('\0');
  return {
    message: message.join('\0').replace(/\n$/, ''),
    author: { GIT_AUTHOR_NAME: name, GIT_AUTHOR_EMAIL: email, GIT_AUTHOR_DATE: `@${date}` },
  };
}
