import { z } from 'zod';
import { ChangeCounts, FileDiff } from './changes.ts';
import { MessageId, StageId } from './ids.ts';
import { NotSaved } from './trash.ts';

/** Goes back to the moment before a message: files, conversation or both. */
export const RewindBody = z.strictObject({
  messageId: MessageId,
  /** With neither `files` nor `conversation`, both go back; else what is left out stays as it is. */
  files: z.boolean().optional(),
  conversation: z.boolean().optional(),
  /** Tells what would change, and changes nothing. */
  dryRun: z.boolean().optional(),
});
export type RewindBody = z.infer<typeof RewindBody>;

/** The limit of files in a plan; `counts` includes all of them. */
export const PLANNED_FILES = 500;

/** What would happen to a file, seen from the present one: `added` comes back, `deleted` goes. */
export const RewindFile = FileDiff.pick({ path: true, oldPath: true, status: true, additions: true, deletions: true });

/** A file that cannot be restored, and stays as it is. */
export const RewindBlocked = z.object({
  path: z.string(),
  /**
   * `in-the-way`: something that is not part of the snapshot stands at its place. `submodule`: a repository of its own.
   * `name`: its name is not UTF-8. `changed-since`: somebody changed it while it was set back.
   */
  reason: z.enum(['in-the-way', 'submodule', 'name', 'changed-since']),
});
export type RewindBlocked = z.infer<typeof RewindBlocked>;

/** What going back to a message changes. */
export const RewindPlan = z.object({
  /** Null if the files cannot go back; `filesProblem` tells why. */
  files: z
    .object({
      /** When they were kept; null: as they were when the stage began. */
      at: z.iso.datetime().nullable(),
      changes: z.array(RewindFile),
      counts: ChangeCounts,
      blocked: z.array(RewindBlocked),
      /** What no snapshot has, and what therefore stays as it is. */
      notKept: z.array(NotSaved),
      /** Commits on the branch since then. They stay; what they changed shows as uncommitted. */
      commits: z.int().nonnegative(),
    })
    .nullable(),
  filesProblem: z.string().nullable(),
  /** Null if the conversation cannot go back; `conversationProblem` tells why. */
  conversation: z
    .object({
      /** How many messages of people and of Callboard are taken back. */
      messages: z.int().nonnegative(),
      /** Nothing is left: the next message begins a new conversation. */
      isNew: z.boolean(),
    })
    .nullable(),
  conversationProblem: z.string().nullable(),
  /** The text of the message, to be edited and sent again. */
  text: z.string(),
});
export type RewindPlan = z.infer<typeof RewindPlan>;

/** One time that a person went back. */
export const RewindRecord = z.object({
  id: z.string(),
  messageId: MessageId,
  at: z.iso.datetime(),
  by: z.string(),
  /** The transcript entries that were taken back, the first and the last one; only with `conversation`. */
  from: z.int().positive(),
  to: z.int().positive(),
  files: z.boolean(),
  conversation: z.boolean(),
  /** Until the next message. */
  canUndo: z.boolean(),
});
export type RewindRecord = z.infer<typeof RewindRecord>;

/** The stage that a stage was forked from. */
export const StageFork = z.object({
  stageId: StageId,
  title: z.string(),
  /** It goes on from before this message; null: from all that was said. */
  messageId: MessageId.nullable(),
  /** Claude Code's id of the conversation that it begins as a copy of; null: nothing was said before that message. */
  conversationId: z.string().nullable(),
  /** The last line of that conversation in the copy; null: all of it. */
  until: z.string().nullable(),
});
export type StageFork = z.infer<typeof StageFork>;

export const ForkBody = z.strictObject({
  /** The new stage begins before this message, and has it as its prompt; after all that was said if left out. */
  messageId: MessageId.optional(),
  title: z.string().trim().min(1, 'is empty').max(300, 'is longer than 300 characters').optional(),
  /** As that of `CreateStage`: the same one again makes no second fork. */
  creationId: z.uuid().optional(),
});
export type ForkBody = z.infer<typeof ForkBody>;
