import type { Project, ProjectId } from '@callboard/contract';
import { forEachAtOnce } from '../lib/at-once.ts';
import { Rejection } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import { requireProject } from '../store/require.ts';
import type { Store } from '../store/store.ts';
import type { Worktrees } from '../worktrees/worktrees.ts';
import type { StoredRepositories } from './repositories.ts';

/** What of the repositories' git settings runs programs, and whether a person has agreed to it. */
export interface ProjectGitSettings {
  /**
   * Agrees to what has this hash; from the next call of git on it is run.
   * @throws Rejection `unknown_project`, `git_settings_changed` where that is not what stands there now
   */
  agree(id: ProjectId, hash: string): Promise<Project>;
  /** Looks at all repositories. Where nobody has looked yet, what stands there now counts as set up by a person. */
  lookAtAll(): Promise<void>;
}

export interface GitSettingsParts {
  store: Store;
  worktrees: Pick<Worktrees, 'gitSettings'>;
  repositories: StoredRepositories;
  log: Logger;
}

/** Each look is a call of git. */
const LOOKS_AT_ONCE = 4;

export function createGitSettings({ store, worktrees, repositories, log }: GitSettingsParts): ProjectGitSettings {
  return {
    async agree(id, hash) {
      await worktrees.gitSettings(await requireProject(store.read, id));
      await repositories.settled(id);
      if (await repositories.agree(id, hash)) return requireProject(store.read, id);
      const advice = 'Look at them again, then agree.';
      throw new Rejection('git_settings_changed', `The git settings of ${id} are not those that were shown. ${advice}`);
    },

    async lookAtAll() {
      await forEachAtOnce(await store.read.projects.list(), LOOKS_AT_ONCE, async (project) => {
        await worktrees.gitSettings(project).catch((error: unknown) => {
          log.warn({ err: error, projectId: project.id }, 'the git settings of a repository could not be read');
        });
      });
    },
  };
}
