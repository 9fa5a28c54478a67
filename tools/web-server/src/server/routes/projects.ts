import { FoldersQuery, SuggestFiles, TrustQuery } from '@callboard/contract';
import type { Relays } from './relay.ts';

/** The repositories on the board, and the rules that hold in them. */
export const projectRelays = {
  create_project: {
    status: 'created',
    summary: 'Register a repository',
    description:
      '`path` is absolute or begins with `~`, on the machine of the orchestrator. Registering a repository again changes nothing.',
    problems: ['not_a_repository', 'no_commits', 'project_exists'],
  },
  list_folders: {
    query: FoldersQuery,
    summary: 'List the folders within a folder',
    description:
      'For choosing a repository on the machine of the orchestrator: repositories first, at most 500. Begins at the home folder; `path` is absolute or begins with `~`. Files and hidden folders are left out.',
    problems: ['unknown_folder', 'folder_unreadable'],
  },
  get_projects: { summary: 'List projects' },
  update_project: {
    summary: 'Rename a project, or change its settings',
    description: 'Settings that are left out stay unchanged.',
    problems: ['unknown_project'],
  },
  remove_project: {
    summary: 'Remove a project from the board',
    description: 'The repository itself stays unchanged. Returns the removed project.',
    problems: ['unknown_project', 'project_in_use'],
  },
  agree_git_settings: {
    summary: 'Agree to git settings of a repository that run programs',
    description:
      '`hash` is the hash in the project’s `gitSettings`. From then on Callboard’s own calls of git may run the listed programs.',
    problems: ['unknown_project', 'git_settings_changed'],
  },
  import_stages: {
    summary: 'Import stages from the Markdown files of a folder',
    description:
      '`path` is absolute, begins with `~`, or is relative to the repository. Imports all files, or none if one of them is invalid. A stage that was imported before is updated. With `watch`, the folder is followed from then on; `stageFolders` of the project says what was found in it. `ignored` lists frontmatter keys that have no meaning here.',
    problems: ['unknown_project', 'import_failed', 'unknown_dependency'],
  },
  export_stages: {
    summary: 'Write the stages of a project as Markdown files',
    description:
      '`path` is a folder: absolute, from `~`, or relative to the repository. A stage that came from a file there is written into that file, with everything else in it left as it is. A file that somebody changed since is never overwritten; `kept` names it.',
    problems: ['unknown_project'],
  },
  suggest_project_files: {
    query: SuggestFiles,
    summary: 'Suggest files of the main checkout',
    description: "At most twenty paths, best first, as for a stage's worktree. Files that git ignores are left out.",
    problems: ['unknown_project', 'worktree_failed'],
  },
  get_branches: {
    summary: 'List the branches of the repository',
    description: 'The local ones, most recently committed first. `current` is the branch of the main checkout.',
    problems: ['unknown_project', 'worktree_failed'],
  },
  get_trust: {
    summary: 'Get the repository settings that need trust',
    description:
      'The hooks, helpers, environment variables, MCP servers, plugins, rules, modes and folders that the settings would switch on now: in the repository, or with `stageId` in the worktree of that stage.',
    query: TrustQuery,
    problems: ['unknown_project', 'unknown_stage'],
  },
  trust_project: {
    summary: 'Trust the current settings of a repository',
    description:
      'Agrees to exactly the settings with this `hash`; the next start of a session uses them. Until then sessions start without the settings of the repository.',
    problems: ['unknown_project', 'trust_changed'],
  },
  agree_rules: {
    summary: 'Confirm that a person allowed these rules in a terminal',
    description:
      'New rules and folders in the local settings of the main checkout, or in the user’s settings. Rules that are no longer there are ignored.',
    problems: ['unknown_project'],
  },
} satisfies Relays;
