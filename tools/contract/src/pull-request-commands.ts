import { z } from 'zod';
import type { CommandDefinitions, DocsOf } from './command.ts';
import * as the from './examples.ts';
import { StageId } from './ids.ts';
import { SendMessageReply } from './messages.ts';
import { Feedback, FeedbackBody, PullRequestBody, PullRequestPlan } from './pull-requests.ts';
import { Receipt } from './receipts.ts';
import { StageView } from './stages.ts';

const onStage = { stageId: StageId };

/** The commands about pull requests and receipts, as `commands` has them. */
export const pullRequestCommands = {
  /** Returns what people consented to in the stage, as data and as Markdown. */
  get_receipt: {
    route: 'GET /api/stages/:stageId/receipt',
    runs: 'owner',
    time: 'slow',
    input: z.object(onStage),
    reply: z.object({ receipt: Receipt, markdown: z.string() }),
  },
  /** Returns what opening a pull request would do now. Changes nothing. */
  get_pull_request: {
    route: 'GET /api/stages/:stageId/pull-request',
    runs: 'owner',
    time: 'slow',
    input: z.object(onStage),
    reply: z.object({ plan: PullRequestPlan }),
  },
  /** Pushes the stage's branch, and opens a pull request for it unless there is one. */
  open_pull_request: {
    route: 'POST /api/stages/:stageId/pull-request',
    runs: 'owner',
    time: 'slow',
    input: PullRequestBody.extend(onStage),
    reply: z.object({ stage: StageView }),
    status: 202,
    isBodyOptional: true,
  },
  /** Asks the code host about the pull request at once. */
  refresh_pull_request: {
    route: 'POST /api/stages/:stageId/pull-request/refresh',
    runs: 'owner',
    time: 'slow',
    input: z.object(onStage),
    reply: z.object({ stage: StageView }),
    status: 202,
  },
  /** Asks the code host for failed checks and open review comments. */
  get_feedback: {
    route: 'GET /api/stages/:stageId/pull-request/feedback',
    runs: 'owner',
    time: 'slow',
    input: z.object(onStage),
    reply: z.object({ feedback: Feedback }),
  },
  /** Sends the logs of failed checks or review comments to Claude as its next message. */
  send_feedback: {
    route: 'POST /api/stages/:stageId/pull-request/feedback',
    runs: 'owner',
    time: 'slow',
    input: FeedbackBody.extend(onStage),
    reply: SendMessageReply,
    isBodyOptional: true,
  },
} as const satisfies CommandDefinitions;

/** What the API's document says of them. */
export const pullRequestDocs = (): DocsOf<typeof pullRequestCommands> => {
  const HOST = ['no_code_host', 'code_host_login', 'code_host_unreachable', 'pull_request_refused'] as const;
  const PLACE = ['unknown_stage', 'no_session', 'worktree_failed'] as const;
  const { stage, queued } = the;
  const onStage = { stageId: stage.id };

  return {
    get_receipt: {
      tag: 'stages',
      summary: 'Get the receipt of a stage',
      description:
        'What people consented to, turn by turn: every tool call of the transcript exactly once, with the reason why it ran or did not, as far as the decision log and Claude Code tell, and the gaps in that. `markdown` is the same in short, as it goes into a pull request or a git note.',
      problems: ['unknown_stage'],
      example: {
        input: onStage,
        reply: { receipt: the.receipt, markdown: '- 1 allowed by a person\n- ` Bash npm install `: allowed by ada' },
      },
    },
    get_pull_request: {
      tag: 'stages',
      summary: 'Preview opening a pull request',
      description:
        'Says where the branch would be pushed to and which branch it would go into, what it would bring there, uncommitted work included, with a drafted title and text. `problem` says why it cannot be opened now, with a command to run or a page to go on by hand. Changes nothing.',
      problems: [...PLACE, 'merge_refused'],
      example: { input: onStage, reply: { plan: the.pullRequestPlan } },
    },
    open_pull_request: {
      tag: 'stages',
      summary: 'Push the branch and open a pull request',
      description:
        "Uses the `gh` or `glab` of this machine with the user's own login, and git's own access to the remote; never pushes by force. If the branch has an open pull request, only pushes to it: there is never a second one. A title or text that is left out is drafted from the stage and its commits. With `receipt`, the text ends with what people consented to. `commit`, `head` and `tree` work as in completing a stage. The order is stored first and continued after a crash; a refusal is kept in `stage.finishing.problem`. The stage then has `pullRequest`, which is kept up to date.",
      problems: [
        ...PLACE,
        ...HOST,
        ...([
          'stage_running',
          'background_work',
          'already_done',
          'uncommitted_work',
          'head_moved',
          'commit_refused',
        ] as const),
        ...(['no_remote', 'push_refused', 'merge_refused'] as const),
      ],
      example: {
        input: { ...onStage, title: stage.title, body: stage.prompt, draft: true, receipt: true },
        reply: { stage: { ...stage, pullRequest: { ...the.pullRequest, state: 'draft' } } },
      },
    },
    refresh_pull_request: {
      tag: 'stages',
      summary: 'Ask the code host about the pull request at once',
      description: 'If the host cannot be asked, `pullRequest.stale` says why, and the rest stays as it was.',
      problems: ['unknown_stage', 'no_pull_request'],
      example: { input: onStage, reply: { stage: { ...stage, pullRequest: the.pullRequest } } },
    },
    get_feedback: {
      tag: 'stages',
      summary: 'List failed checks and unresolved review comments',
      problems: [...PLACE, ...HOST, 'no_pull_request'],
      example: { input: onStage, reply: { feedback: the.feedback } },
    },
    send_feedback: {
      tag: 'stages',
      summary: 'Send failed checks or review comments to Claude',
      description:
        'They become one message: the ends of the logs of the `checks` that are named, the `comments` with these ids with file and line, and with `conflict` the request to merge the base in the worktree. It is bounded, and says that others wrote it.',
      problems: [...PLACE, ...HOST, 'no_pull_request', 'nothing_to_send', 'claude_missing'],
      example: {
        input: { ...onStage, checks: ['test'], comments: ['PRRT_kwDO'] },
        reply: { status: 'resumed', messageId: queued.messageId },
      },
    },
  };
};
