import { z } from 'zod';
import type { CommandDefinitions, DocsOf } from './command.ts';
import * as the from './examples.ts';
import { ProjectId } from './ids.ts';
import {
  AdoptBody,
  AdoptReply,
  ConversationList,
  ExportBody,
  ExportReply,
  ImportIssuesBody,
  ImportIssuesReply,
  IssueList,
  IssuesQuery,
} from './import.ts';

const ofProject = { projectId: ProjectId };

/** Commands that bring work begun elsewhere to the board. */
export const moveInCommands = {
  /** Lists the conversations that were begun in a terminal in the project's folders. */
  get_conversations: {
    route: 'GET /api/projects/:projectId/conversations',
    runs: 'project',
    time: 'slow',
    input: z.object(ofProject),
    reply: ConversationList,
  },
  /** Makes a stage that goes on from such a conversation. The original stays as it is. */
  adopt_conversation: {
    route: 'POST /api/projects/:projectId/adopt',
    runs: 'project',
    time: 'slow',
    input: AdoptBody.extend(ofProject),
    reply: AdoptReply,
    status: 201,
  },
  /** Lists open issues of the project's repository on its code host. */
  get_issues: {
    route: 'GET /api/projects/:projectId/issues',
    runs: 'project',
    time: 'slow',
    input: IssuesQuery.extend(ofProject),
    reply: IssueList,
    query: IssuesQuery,
  },
  /** Makes a stage of each of these issues, or brings the one that was made of it up to date. */
  import_issues: {
    route: 'POST /api/projects/:projectId/issues/import',
    runs: 'project',
    time: 'slow',
    input: ImportIssuesBody.extend(ofProject),
    reply: ImportIssuesReply,
  },
  /** Writes the project's stages as Markdown files, which an import reads. */
  export_stages: {
    route: 'POST /api/projects/:projectId/export',
    runs: 'project',
    time: 'slow',
    input: ExportBody.extend(ofProject),
    reply: ExportReply,
  },
} as const satisfies CommandDefinitions;

/** What the API's document says of them. */
export const moveInDocs = (): DocsOf<typeof moveInCommands> => {
  const { project } = the;
  const ofProject = { projectId: project.id };

  return {
    get_conversations: {
      tag: 'projects',
      summary: 'List the conversations that were begun in a terminal',
      description:
        "Those that Claude Code keeps of the project's checkouts and their subfolders, newest first, without those of stages. `isOpen`: a Claude Code that is running has it open.",
      problems: ['unknown_project', 'worktree_failed'],
      example: { input: ofProject, reply: the.conversations },
    },
    adopt_conversation: {
      tag: 'projects',
      summary: 'Continue a conversation as a stage',
      description:
        'The stage shows what was said before, and starts with the next message, in a worktree of its own and with a copy of the conversation; the original is never written to. The worktree begins at the commit that the folder of the conversation is at, with its uncommitted changes unless `uncommitted` is false.',
      problems: ['unknown_project', 'unknown_conversation', 'conversation_adopted', 'worktree_failed'],
      example: {
        input: { ...ofProject, conversationId: the.conversation.conversationId, title: 'Login form' },
        reply: { stage: the.adopted },
      },
    },
    get_issues: {
      tag: 'projects',
      summary: 'List open issues',
      description:
        "Of the repository on its code host, through the user's `gh` or `glab`, at most 100. `q` is what its search takes. `problem` says why none can be listed, with the next step.",
      problems: ['unknown_project', 'worktree_failed'],
      example: { input: { ...ofProject, q: 'login' }, reply: the.issues },
    },
    import_issues: {
      tag: 'projects',
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
      example: {
        input: { ...ofProject, numbers: [12] },
        reply: { stages: [the.ofIssue], created: 1, updated: 0, kept: [] },
      },
    },
    export_stages: {
      tag: 'projects',
      summary: 'Write the stages of a project as Markdown files',
      description:
        '`path` is a folder: absolute, from `~`, or relative to the repository. A stage that came from a file there is written into that file, with everything else in it left as it is. A file that somebody changed since is never overwritten; `kept` names it.',
      problems: ['unknown_project'],
      example: {
        input: { ...ofProject, path: 'docs/stages' },
        reply: {
          folder: `${project.path}/docs/stages`,
          written: [`${project.path}/docs/stages/STAGE-1.md`],
          unchanged: 2,
          kept: [],
        },
      },
    },
  };
};
