import type { Project, StageId, Worktree } from '@callboard/contract';
import type { LaunchSettings } from '../store/records.ts';
import type { Store } from '../store/store.ts';
import type { Worktrees } from '../worktrees/worktrees.ts';
import { itemsOf } from './content.ts';
import { excludedCommands, type Found } from './settings-items.ts';
import { userItems, userSettings, userSettingsPath } from './user-items.ts';

/** A setting that was added to a settings file while a session ran. */
export interface AddedSetting extends Pick<Found, 'kind' | 'value' | 'file'> {
  /** A person has agreed to it meanwhile. */
  isAgreed: boolean;
}

/** Compares the settings files of a running session with their state at its launch. */
export interface ChangesSinceLaunch {
  /** Returns what was added to the settings files since the launch; nothing if their state at the launch is unknown. */
  addedSince(stageId: StageId, launch: LaunchSettings): Promise<AddedSetting[]>;
  /** Returns commands that settings files let run outside the sandbox now, and did not at the launch. */
  newlyExcluded(stageId: StageId, launch: LaunchSettings): Promise<string[]>;
  /** Returns the files that both read, whether they exist or not; none for a stage without a worktree. */
  settingsPaths(stageId: StageId): Promise<string[]>;
}

export interface SettingsSources {
  store: Store;
  worktrees: Worktrees;
  /** The user's environment. */
  env: Readonly<Record<string, string>>;
}

/** Identifies an item of a settings file. */
export const itemKey = ({ kind, value, file }: Pick<Found, 'kind' | 'value' | 'file'>) => `${file} ${kind}:${value}`;

/**
 * Returns the commands that settings files let run outside the sandbox.
 * @param userOnly ignores the files of the repository
 */
export async function excludedIn(
  { worktrees, env }: Pick<SettingsSources, 'worktrees' | 'env'>,
  project: Project,
  worktree: Worktree,
  userOnly: boolean,
): Promise<string[]> {
  const files = userOnly ? [] : await worktrees.settingsFiles(project, worktree);
  return [...new Set([...files.map(({ text }) => text), await userSettings(env)].flatMap(excludedCommands))];
}

export function createChangesSinceLaunch(sources: SettingsSources): ChangesSinceLaunch {
  const { store, worktrees, env } = sources;

  async function locationOf(stageId: StageId): Promise<{ project: Project; worktree: Worktree } | null> {
    const stage = await store.read.stages.find(stageId);
    const project = stage === null ? null : await store.read.projects.find(stage.projectId);
    return stage === null || stage.worktree === null || project === null ? null : { project, worktree: stage.worktree };
  }

  return {
    async addedSince(stageId, launch) {
      const place = launch.isKnown ? await locationOf(stageId) : null;
      if (place === null) return [];
      const { project, worktree } = place;
      const files = (await worktrees.settingsFiles(project, worktree)).flatMap((file) =>
        itemsOf(file).map((item) => ({ item, scope: file.isPersonal ? project.id : null })),
      );
      const users = (await userItems(env)).map((item) => ({ item, scope: 'user' as const }));
      const before = new Set(launch.items);
      const added = [...files, ...users].filter(({ item }) => !before.has(itemKey(item)));
      return Promise.all(
        added.map(async ({ item: { kind, value, file }, scope }) => {
          const agreed = scope === null ? null : await store.read.agreed.find(scope);
          return { kind, value, file, isAgreed: agreed?.personal.includes(`${kind}:${value}`) ?? false };
        }),
      );
    },
    async newlyExcluded(stageId, launch) {
      const place = launch.isSandboxed ? await locationOf(stageId) : null;
      if (place === null) return [];
      const now = await excludedIn(sources, place.project, place.worktree, !launch.readsRepository);
      return now.filter((command) => !launch.excluded.includes(command));
    },
    async settingsPaths(stageId) {
      const place = await locationOf(stageId);
      return place === null ? [] : [...worktrees.settingsPaths(place.project, place.worktree), userSettingsPath(env)];
    },
  };
}
