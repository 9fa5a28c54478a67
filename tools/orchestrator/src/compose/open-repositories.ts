import { userEnvironment } from '@callboard/runtime/environment';
import { createCommentFollower } from '../comments/follow-comments.ts';
import { dataDirLayout } from '../data-dir.ts';
import { environmentForSandbox } from '../isolation/bwrap-wrapper.ts';
import { createGitSettings } from '../stages/git-settings.ts';
import { createRepositories } from '../stages/repositories.ts';
import type { Store } from '../store/store.ts';
import { createTrust } from '../trust/trust.ts';
import { followLines } from '../worktrees/line-hunks.ts';
import { createWorktrees } from '../worktrees/worktrees.ts';
import { openWorkspace } from './open-workspace.ts';
import type { StartContext } from './start-context.ts';

/** Repositories with their worktrees, and what a person trusts in them. */
export async function openRepositories(
  context: StartContext,
  { all, own }: { all: Store; own: Store },
  ownEnv: Readonly<Record<string, string | undefined>>,
) {
  const { log } = context;
  const { dataDir } = context.config;
  const env = userEnvironment(ownEnv);
  const repositories = createRepositories({ store: all, dataDir, log });
  const worktrees = createWorktrees({ dataDir, env, repositories });
  const gitSettings = createGitSettings({ store: own, worktrees, repositories, log });
  await gitSettings.checkAll(); // before anything else calls git: the settings that exist now were made by a person
  const workspace = openWorkspace(context, { store: own, worktrees, env });
  const { fileOf } = workspace.stageSettings;
  const trust = createTrust({ store: own, worktrees, log, env, fileOf });
  const claudeEnv = await environmentForSandbox(env, dataDirLayout(dataDir).programs, log);
  const onDiff = createCommentFollower({ store: own, worktrees, followLines });
  return { env, claudeEnv, worktrees, gitSettings, trust, onDiff, ...workspace };
}

export type Repositories = Awaited<ReturnType<typeof openRepositories>>;
