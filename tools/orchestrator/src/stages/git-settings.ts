import type { Project, ProjectId } from '@callboard/contract';
import { forEachAtOnce } from '../lib/at-once.ts';
import { Rejection } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import { requireProject } from '../store/require.ts';
import type { Store } from '../store/store.ts';
import type { Worktrees } from '../worktrees/worktrees.ts';
import type { StoredRepositories } from './repositories.ts';

/** The git settings of repositories that run programs, and whether a person has agreed to them. */
export interface ProjectGitSettings {
  /**
   * Agrees to the settings with this hash. Every later call of git runs their programs.
   * @throws Rejection `unknown_project`; `git_settings_changed` if the current settings have another hash
   */
  agree(id: ProjectId, hash: string): Promise<Project>;
  /** Checks all repositories. At the first check of a repository, its settings count as set up by a person. */
  checkAll(): Promise<void>;
}

export interface GitSettingsDeps {
  store: Store;
  worktrees: Pick<Worktrees, 'gitSettings'>;
  repositories: StoredRepositories;
  log: Logger;
}

/** Each check calls git. */
const CHECKS_AT_ONCE = 4;

export function createGitSettings({ store, worktrees, repositories, log }: GitSettingsDeps): ProjectGitSettings {
  return {
    async agree(id, hash) {
      await worktrees.gitSettings(await requireProject(store.read, id));
      await repositories.settled(id);
      if (await repositories.agree(id, hash)) return requireProject(store.read, id);
      const advice = 'Review them again, then agree.';
      throw new Rejection('git_settings_changed', `The git settings of ${id} have changed since you looked. ${advice}`);
    },

    async checkAll() {
      await forEachAtOnce(await store.read.projects.list(), CHECKS_AT_ONCE, async (project) => {
        await worktrees.gitSettings(project).catch((error: unknown) => {
          log.warn({ err: error, projectId: project.id }, 'git settings not read');
        });
      });
    },
  };
}
