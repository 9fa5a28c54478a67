import { IssuesQuery } from '@callboard/contract';
import type { Relays } from './relay.ts';

/** Work that was begun elsewhere, and comes to the board. */
export const moveInRelays = {
  get_conversations: {
    summary: 'List the conversations that were begun in a terminal',
    description:
      "Those that Claude Code keeps of the project's checkouts and their subfolders, newest first, without those of stages. `isOpen`: a Claude Code that is running has it open.",
    problems: ['unknown_project', 'worktree_failed'],
  },
  adopt_conversation: {
    status: 201,
    summary: 'Continue a conversation as a stage',
    description:
      'The stage shows what was said before, and starts with the next message, in a worktree of its own and with a copy of the conversation; the original is never written to. The worktree begins at the commit that the folder of the conversation is at, with its uncommitted changes unless `uncommitted` is false.',
    problems: ['unknown_project', 'unknown_conversation', 'conversation_adopted', 'worktree_failed'],
  },
  get_issues: {
    query: IssuesQuery,
    summary: 'List open issues',
    description:
      "Of the repository on its code host, through the user's `gh` or `glab`, at most 100. `q` is what its search takes. `problem` says why none can be listed, with the next step.",
    problems: ['unknown_project', 'worktree_failed'],
  },
  import_issues: {
    summary: 'Import issues as stages',
    description:
      'A stage that was made of an issue before is brought up to date, unless it was started or edited here since: then it stays as it is, and `kept` names it.',
    problems: [
      'unknown_project',
      'no_remote',
      'no_code_host',
      'code_host_login',
      'code_host_unreachable',
      'pull_request_refused',
    ],
  },
} satisfies Relays;
