import type { StageExports } from '../../stages/export-stages.ts';
import type { ProjectGitSettings } from '../../stages/git-settings.ts';
import type { StageImports } from '../../stages/import-stages.ts';
import type { Projects } from '../../stages/projects.ts';
import type { WorktreeFiles } from '../../stages/worktree-files.ts';
import type { Store } from '../../store/store.ts';
import type { Trust } from '../../trust/trust.ts';
import type { BoardViews } from '../../views/board-views.ts';
import type { CommandHandlers } from './command-handler.ts';

export interface ProjectDeps {
  store: Store;
  views: BoardViews;
  projects: Projects;
  gitSettings: ProjectGitSettings;
  trust: Trust;
  imports: StageImports;
  exports: StageExports;
  files: WorktreeFiles;
}

type ProjectCommands =
  | 'create_project'
  | 'update_project'
  | 'agree_git_settings'
  | 'remove_project'
  | 'list_folders'
  | 'get_projects'
  | 'get_trust'
  | 'trust_project'
  | 'agree_rules'
  | 'import_stages'
  | 'export_stages'
  | 'suggest_project_files'
  | 'get_branches';

export function projectCommands(deps: ProjectDeps): Pick<CommandHandlers, ProjectCommands> {
  const { store, views, projects, gitSettings, trust, imports, exports, files } = deps;
  return {
    create_project: async (input) => {
      const { project, created } = await projects.register(input);
      return { project: await trust.refresh(project.id), created };
    },
    update_project: async ({ projectId, ...patch }) => ({ project: await projects.update(projectId, patch) }),
    agree_git_settings: async ({ projectId, hash }) => ({ project: await gitSettings.agree(projectId, hash) }),
    remove_project: async ({ projectId }) => ({ project: await projects.remove(projectId) }),
    list_folders: ({ path }) => projects.folders(path),
    get_projects: async () => {
      await trust.refreshAll();
      return { projects: await store.read.projects.list() };
    },
    get_trust: async ({ projectId, stageId }) => ({
      trust:
        stageId === undefined ? (await trust.refresh(projectId)).trust : await trust.inspectStage(projectId, stageId),
    }),
    trust_project: async ({ projectId, hash }, { actor }) => ({
      project: await trust.agree(projectId, hash, actor.name),
    }),
    agree_rules: async ({ projectId, rules }) => ({ project: await trust.agreeToRules(projectId, rules) }),
    import_stages: async ({ projectId, path, watch = false }) => {
      const { ids, ...done } = await imports.run(projectId, path);
      if (watch) await projects.watchFolder(projectId, path);
      const cards = new Map((await views.board()).stages.map((stage) => [stage.id, stage]));
      return { stages: ids.flatMap((id) => cards.get(id) ?? []), ...done };
    },
    export_stages: ({ projectId, path }) => exports.run(projectId, path),
    suggest_project_files: async ({ projectId, query = '' }) => ({ files: await files.suggestIn(projectId, query) }),
    get_branches: ({ projectId }) => files.branches(projectId),
  };
}
