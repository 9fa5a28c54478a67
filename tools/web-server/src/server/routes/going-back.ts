import type { Relays } from './relay.ts';

const COMMON = [
  ...(['unknown_stage', 'no_session', 'unknown_message', 'session_alarm', 'in_terminal', 'already_done'] as const),
  ...(['stage_running', 'background_work', 'cannot_go_back', 'worktree_failed'] as const),
];

/** Going back to an earlier message. */
export const rewindRelays = {
  rewind_session: {
    summary: 'Go back to before a message',
    description:
      'Sets the files, the conversation or both back to the moment before a message that began a turn; with `dryRun`, tells what would change. The process of the session ends first; a later message resumes it. What was is kept and can be had again until the next message. Ignored files, nested repositories and files over 50 MB are in no snapshot and stay; so do the branch and its commits. Nothing goes back while Claude or a check works.',
    problems: COMMON,
  },
  undo_rewind: {
    summary: 'Undo the newest going back',
    description: 'Until the next message. The files of now are kept as well.',
    problems: COMMON,
  },
} satisfies Relays;

/** Branching off at an earlier message. */
export const forkRelays = {
  fork_stage: {
    status: 201,
    isBodyOptional: true,
    summary: 'Fork a stage',
    description:
      'Makes a stage that was not started yet, with the conversation and the files from before a message, on a branch of its own; the message is its prompt. Without a message: with all that was said and the present files, and no prompt: start it, then send a message. The original is not touched. If the reply is lost, send the same again with the same `creationId` (a UUID of your choice): that makes no second fork.',
    problems: COMMON,
  },
} satisfies Relays;
