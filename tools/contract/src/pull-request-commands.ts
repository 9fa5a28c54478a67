import { z } from 'zod';
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
    time: 'slow',
    input: z.object(onStage),
    reply: z.object({ receipt: Receipt, markdown: z.string() }),
  },
  /** Returns what opening a pull request would do now. Changes nothing. */
  get_pull_request: { time: 'slow', input: z.object(onStage), reply: z.object({ plan: PullRequestPlan }) },
  /** Pushes the stage's branch, and opens a pull request for it unless there is one. */
  open_pull_request: {
    time: 'slow',
    input: PullRequestBody.extend(onStage),
    reply: z.object({ stage: StageView }),
  },
  /** Asks the code host about the pull request at once. */
  refresh_pull_request: { time: 'slow', input: z.object(onStage), reply: z.object({ stage: StageView }) },
  /** Asks the code host for failed checks and open review comments. */
  get_feedback: { time: 'slow', input: z.object(onStage), reply: z.object({ feedback: Feedback }) },
  /** Sends the logs of failed checks or review comments to Claude as its next message. */
  send_feedback: { time: 'slow', input: FeedbackBody.extend(onStage), reply: SendMessageReply },
} as const;
