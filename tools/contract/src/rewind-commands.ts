import { z } from 'zod';
import type { CommandDefinitions, DocsOf } from './command.ts';
import * as the from './examples.ts';
import { StageId } from './ids.ts';
import { ForkBody, RewindBody, RewindPlan } from './rewind.ts';
import { SessionSummary } from './sessions.ts';
import { StageView } from './stages.ts';

const onStage = { stageId: StageId };

/** Going back to an earlier message, and branching off there. */
export const rewindCommands = {
  /** Sets files, conversation or both back to before a message. What was is kept, and can be had again. */
  rewind_session: {
    route: 'POST /api/sessions/:stageId/rewind',
    runs: 'owner',
    time: 'slow',
    input: RewindBody.extend(onStage),
    reply: z.object({ plan: RewindPlan, session: SessionSummary }),
  },
  /** Takes the newest going back back, until the next message. */
  undo_rewind: {
    route: 'POST /api/sessions/:stageId/rewind/undo',
    runs: 'owner',
    time: 'slow',
    input: z.object(onStage),
    reply: z.object({ session: SessionSummary }),
  },
  /** Makes a stage with the conversation and the files of that moment. The original is not touched. */
  fork_stage: {
    route: 'POST /api/stages/:stageId/fork',
    runs: 'owner',
    time: 'slow',
    input: ForkBody.extend(onStage),
    reply: z.object({ stage: StageView }),
    status: 201,
    isBodyOptional: true,
  },
} as const satisfies CommandDefinitions;

/** What the API's document says of them. */
export const goingBackDocs = (): DocsOf<typeof rewindCommands> => {
  const COMMON = [
    ...(['unknown_stage', 'no_session', 'unknown_message', 'session_alarm', 'in_terminal', 'already_done'] as const),
    ...(['stage_running', 'background_work', 'cannot_go_back', 'worktree_failed'] as const),
  ];
  const { stage, queued } = the;
  const onStage = { stageId: stage.id };
  const onMessage = { ...onStage, messageId: queued.messageId };

  return {
    rewind_session: {
      tag: 'sessions',
      summary: 'Go back to before a message',
      description:
        'Sets the files, the conversation or both back to the moment before a message that began a turn; with `dryRun`, tells what would change. The process of the session ends first; a later message resumes it. What was is kept and can be had again until the next message. Ignored files, nested repositories and files over 50 MB are in no snapshot and stay; so do the branch and its commits. Nothing goes back while Claude or a check works.',
      problems: COMMON,
      example: {
        input: { ...onMessage, files: true, conversation: true, dryRun: true },
        reply: { plan: the.rewindPlan, session: SessionSummary.parse(the.session) },
      },
    },
    undo_rewind: {
      tag: 'sessions',
      summary: 'Undo the newest going back',
      description: 'Until the next message. The files of now are kept as well.',
      problems: COMMON,
      example: { input: onStage, reply: { session: SessionSummary.parse(the.session) } },
    },
    fork_stage: {
      tag: 'stages',
      summary: 'Fork a stage',
      description:
        'Makes a stage that was not started yet, with the conversation and the files from before a message, on a branch of its own; the message is its prompt. Without a message: with all that was said and the present files, and no prompt: start it, then send a message. The original is not touched. If the reply is lost, send the same again with the same `creationId` (a UUID of your choice): that makes no second fork.',
      problems: COMMON,
      example: { input: { ...onMessage, title: 'Login form, another way' }, reply: { stage } },
    },
  };
};
