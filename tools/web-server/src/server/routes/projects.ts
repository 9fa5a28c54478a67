import { TrustQuery } from '@callboard/contract';
import type { Relays } from './relay.ts';

/** The repositories that the board knows, and the rules that hold in them. */
export const projectRelays = {
  create_project: {
    status: 'created',
    summary: 'Registers a repository',
    description: '`path` is absolute, on the machine of the orchestrator. Registering it again changes nothing.',
    problems: ['not_a_repository', 'no_commits', 'project_exists'],
  },
  get_projects: { summary: 'All projects' },
  update_project: {
    summary: 'Renames a project, or changes its settings',
    description: 'Settings that are not named stay as they are.',
    problems: ['unknown_project'],
  },
  remove_project: {
    summary: 'Removes a project from the board',
    description: 'The repository itself is not touched. Answers with what was removed.',
    problems: ['unknown_project', 'project_in_use'],
  },
  agree_git_settings: {
    summary: 'Agrees to the git settings of a repository that run programs',
    description:
      '`hash` is that of the project’s `gitSettings`. From then on Callboard’s own calls of git run what these items say.',
    problems: ['unknown_project', 'git_settings_changed'],
  },
  import_stages: {
    summary: 'Imports stages from the Markdown files of a folder',
    description:
      '`path` is absolute, or relative to the repository. All files or, when one of them is wrong, none. A stage that was imported before is updated. `ignored` names the keys of their frontmatter that mean nothing here.',
    problems: ['unknown_project', 'import_failed', 'unknown_dependency'],
  },
  get_rules: {
    summary: 'What was allowed for good, in the project and in its stages',
    problems: ['unknown_project'],
  },
  get_trust: {
    summary: 'What the settings of the repository would switch on',
    description:
      'Hooks, helpers, environment variables, MCP servers, plugins, rules, modes and folders, as they are now: in the repository, or with `stageId` in the worktree of that stage.',
    query: TrustQuery,
    problems: ['unknown_project', 'unknown_stage'],
  },
  trust_project: {
    summary: 'Trusts a repository as it is',
    description:
      'Agrees to exactly what has this `hash`; the next start of a session uses it. Until then sessions start without the settings of the repository.',
    problems: ['unknown_project', 'trust_changed'],
  },
  agree_rules: {
    summary: 'Says that these rules were allowed by a person, in a terminal',
    description:
      'Rules and folders of the local settings of the main checkout, or of the user, that are new since somebody looked. What does not stand there now is passed over.',
    problems: ['unknown_project'],
  },
  remove_rule: {
    summary: 'Revokes a rule',
    description: 'Sessions that run keep it until their process ends.',
    problems: ['unknown_rule'],
  },
} satisfies Relays;
