import { chmod, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { GitSettingItem, Project, Worktree } from '@callboard/contract';
import { createWorktrees, type Worktrees } from '../../src/core/worktrees/worktrees.ts';
import { trustOnFirstUse } from '../../src/platform/git/locate-checkout.ts';
import { createGitLab, type GitLab } from './repository.ts';
import { sampleProject, stageId } from './test-store.ts';

/** A working stage in a repository that a person has registered, and whose main branch has moved on since. */
export interface GitScene extends GitLab {
  path: string;
  project: Project;
  worktree: Worktree;
  worktrees: Worktrees;
  /** A program that writes a line whenever it runs, and fails. */
  canary: string;
  /** Returns the lines that the canary wrote. */
  ran(): Promise<string>;
  forget(): Promise<void>;
  /** Returns the names of all settings that nobody has agreed to. */
  told(): string[];
  /** Git for a person who has agreed to everything that is in the repository now. */
  agreeing(): Worktrees;
  /** Git with additional environment variables. */
  startedWith(env: Record<string, string>): Worktrees;
}

export const ALL_HOOKS = [
  ...['post-checkout', 'post-merge', 'pre-merge-commit', 'commit-msg', 'prepare-commit-msg', 'post-index-change'],
  ...['reference-transaction', 'pre-auto-gc'],
];

/** @param before sets the repository up before a person registers it */
export async function setUpGitScene(
  before: (lab: GitLab, path: string, canary: string) => Promise<unknown> = async () => undefined,
): Promise<GitScene> {
  const lab = await createGitLab();
  const path = await lab.repository('shop');
  const canary = join(lab.folder, 'canary.sh');
  const trace = join(lab.folder, 'ran');
  await writeFile(canary, `#!/bin/sh\necho "${canary} $*" >> ${trace}\nexit 1\n`);
  await chmod(canary, 0o755);
  await lab.commit(path, 'data.txt', 'one\ntwo\nthree\nfour\nfive\n');
  await before(lab, path, canary);
  const found = new Map<string, readonly GitSettingItem[]>();
  const notify = (_id: string, checkout: string, items: readonly GitSettingItem[]) => void found.set(checkout, items);
  const startedWith = (more: Record<string, string>, repositories = trustOnFirstUse()) =>
    createWorktrees({ dataDir: join(lab.folder, 'data'), env: { ...lab.env, ...more }, repositories });
  const worktrees = startedWith({}, { ...trustOnFirstUse(), reportPending: notify });
  const project = sampleProject({ path });
  await worktrees.gitSettings(project);
  const worktree = await worktrees.ensure(project, stageId('STAGE-1'), null);
  await lab.commit(path, 'data.txt', 'one\ntwo\nthree\nfour\n5\n');
  const forget = () => rm(trace, { force: true });
  await forget();
  return {
    ...lab,
    path,
    project,
    worktree,
    worktrees,
    canary,
    forget,
    startedWith,
    ran: () => readFile(trace, 'utf8').catch(() => ''),
    told: () => [...new Set([...found.values()].flat().map(({ name }) => name))],
    agreeing: () => startedWith({}),
  };
}

/** Puts the program into a folder, as each of these hooks. */
export async function putHooks(folder: string, names: readonly string[], program: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const name of names) {
    await rm(join(folder, name), { force: true });
    await symlink(program, join(folder, name));
  }
}
