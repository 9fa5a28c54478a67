import { z } from 'zod';
import type { CommandDefinitions, DocsOf } from './command.ts';
import * as the from './examples.ts';
import { ProjectId } from './ids.ts';
import { ImportBody, ImportReply } from './import.ts';
import {
  BranchList,
  FolderList,
  FoldersQuery,
  GitSettingsBody,
  NewProject,
  Project,
  ProjectPatch,
} from './projects.ts';
import { ProjectTrust, RulesBody, TrustBody, TrustQuery } from './trust.ts';
export const SuggestFiles = z.strictObject({ query: z.string().max(500).optional() });

const ofProject = { projectId: ProjectId };
const nothing = z.object({});

export const projectCommands = {
  create_project: {
    route: 'POST /api/projects',
    runs: 'here',
    input: NewProject,
    reply: z.object({ project: Project, created: z.boolean() }),
    status: 'created',
  },
  get_projects: {
    route: 'GET /api/projects',
    runs: 'store',
    time: 'read',
    input: nothing,
    reply: z.object({ projects: z.array(Project) }),
  },
  update_project: {
    route: 'PATCH /api/projects/:projectId',
    runs: 'store',
    input: ProjectPatch.extend({ projectId: ProjectId }),
    reply: z.object({ project: Project }),
  },
  remove_project: {
    route: 'DELETE /api/projects/:projectId',
    runs: 'store',
    input: z.object({ projectId: ProjectId }),
    reply: z.object({ project: Project }),
  },
  /** Agrees to the git settings with this hash; `git_settings_changed` if they differ by now. */
  agree_git_settings: {
    route: 'POST /api/projects/:projectId/git-settings',
    runs: 'project',
    input: GitSettingsBody.extend({ projectId: ProjectId }),
    reply: z.object({ project: Project }),
  },
  /** Reads again what the repository's own settings would switch on; with a stage, the settings in its worktree. */
  get_trust: {
    route: 'GET /api/projects/:projectId/trust',
    runs: 'project',
    input: TrustQuery.extend({ projectId: ProjectId }),
    reply: z.object({ trust: ProjectTrust }),
    query: TrustQuery,
  },
  /** Agrees to the settings with this hash; `trust_changed` if they differ by now. */
  trust_project: {
    route: 'POST /api/projects/:projectId/trust',
    runs: 'project',
    input: TrustBody.extend({ projectId: ProjectId }),
    reply: z.object({ project: Project }),
  },
  /** Agrees to exactly these rules in the settings of the main checkout or of the user. */
  agree_rules: {
    route: 'POST /api/projects/:projectId/trust/rules',
    runs: 'project',
    input: RulesBody.extend({ projectId: ProjectId }),
    reply: z.object({ project: Project }),
  },
  list_folders: {
    route: 'GET /api/folders',
    runs: 'here',
    time: 'read',
    input: FoldersQuery,
    reply: FolderList,
    query: FoldersQuery,
  },
  get_branches: {
    route: 'GET /api/projects/:projectId/branches',
    runs: 'project',
    input: z.object(ofProject),
    reply: BranchList,
  },
  /** Lists files of a project's main checkout in the same way. */
  suggest_project_files: {
    route: 'GET /api/projects/:projectId/files',
    runs: 'project',
    input: SuggestFiles.extend(ofProject),
    reply: z.object({ files: z.array(z.string()) }),
    query: SuggestFiles,
  },
  /** Imports stages from the Markdown files of a folder: all of them, or none if one is invalid. */
  import_stages: {
    route: 'POST /api/projects/:projectId/import',
    runs: 'project',
    time: 'slow',
    input: ImportBody.extend({ projectId: ProjectId }),
    reply: ImportReply,
  },
} as const satisfies CommandDefinitions;

/** What the API's document says of them. */
export const projectDocs = (): DocsOf<typeof projectCommands> => {
  const { project, stage } = the;
  const ofProject = { projectId: project.id };
  const onStage = { stageId: stage.id };

  return {
    create_project: {
      tag: 'projects',
      summary: 'Register a repository',
      description:
        '`path` is absolute or begins with `~`, on the machine of the orchestrator. Registering a repository again changes nothing.',
      problems: ['not_a_repository', 'no_commits', 'project_exists'],
      example: { input: { path: project.path, name: 'Web' }, reply: { project, created: true } },
    },
    get_projects: { tag: 'projects', summary: 'List projects', example: { input: {}, reply: { projects: [project] } } },
    update_project: {
      tag: 'projects',
      summary: 'Rename a project, or change its settings',
      description: 'Settings that are left out stay unchanged.',
      problems: ['unknown_project'],
      example: { input: { ...ofProject, settings: { copyIgnored: ['.env'] } }, reply: { project } },
    },
    remove_project: {
      tag: 'projects',
      summary: 'Remove a project from the board',
      description: 'The repository itself stays unchanged. Returns the removed project.',
      problems: ['unknown_project', 'project_in_use'],
      example: { input: ofProject, reply: { project } },
    },
    agree_git_settings: {
      tag: 'projects',
      summary: 'Agree to git settings of a repository that run programs',
      description:
        '`hash` is the hash in the project’s `gitSettings`. From then on Callboard’s own calls of git may run the listed programs.',
      problems: ['unknown_project', 'git_settings_changed'],
      example: { input: { ...ofProject, hash: 'b5bb9d80' }, reply: { project } },
    },
    get_trust: {
      tag: 'projects',
      summary: 'Get the repository settings that need trust',
      description:
        'The hooks, helpers, environment variables, MCP servers, plugins, rules, modes and folders that the settings would switch on now: in the repository, or with `stageId` in the worktree of that stage.',
      problems: ['unknown_project', 'unknown_stage'],
      example: { input: { ...ofProject, ...onStage }, reply: { trust: the.trust } },
    },
    trust_project: {
      tag: 'projects',
      summary: 'Trust the current settings of a repository',
      description:
        'Agrees to exactly the settings with this `hash`; the next start of a session uses them. Until then sessions start without the settings of the repository.',
      problems: ['unknown_project', 'trust_changed'],
      example: {
        input: { ...ofProject, hash: the.trust.hash },
        reply: { project: { ...project, trust: { ...the.trust, needed: false } } },
      },
    },
    agree_rules: {
      tag: 'projects',
      summary: 'Confirm that a person allowed these rules in a terminal',
      description:
        'New rules and folders in the local settings of the main checkout, or in the user’s settings. Rules that are no longer there are ignored.',
      problems: ['unknown_project'],
      example: { input: { ...ofProject, rules: ['Bash(npm run lint)'] }, reply: { project } },
    },
    list_folders: {
      tag: 'projects',
      summary: 'List the folders within a folder',
      description:
        'For choosing a repository on the machine of the orchestrator: repositories first, at most 500. Begins at the home folder; `path` is absolute or begins with `~`. Files and hidden folders are left out.',
      problems: ['unknown_folder', 'folder_unreadable'],
      example: { input: { path: '~/code' }, reply: the.folders },
    },
    get_branches: {
      tag: 'projects',
      summary: 'List the branches of the repository',
      description: 'The local ones, most recently committed first. `current` is the branch of the main checkout.',
      problems: ['unknown_project', 'worktree_failed'],
      example: { input: ofProject, reply: { current: 'main', branches: ['main', 'develop'] } },
    },
    suggest_project_files: {
      tag: 'projects',
      summary: 'Suggest files of the main checkout',
      description: "At most twenty paths, best first, as for a stage's worktree. Files that git ignores are left out.",
      problems: ['unknown_project', 'worktree_failed'],
      example: { input: { ...ofProject, query: 'login' }, reply: { files: ['src/login.ts'] } },
    },
    import_stages: {
      tag: 'projects',
      summary: 'Import stages from the Markdown files of a folder',
      description:
        '`path` is absolute, begins with `~`, or is relative to the repository. Imports all files, or none if one of them is invalid. A stage that was imported before is updated. With `watch`, the folder is followed from then on; `stageFolders` of the project says what was found in it. `ignored` lists frontmatter keys that have no meaning here.',
      problems: ['unknown_project', 'import_failed', 'unknown_dependency'],
      example: {
        input: { ...ofProject, path: 'docs/stages' },
        reply: { stages: [stage], created: 1, updated: 0, ignored: [] },
      },
    },
  };
};
