import type { CommentId, MessageId, StageId, ViewedFiles } from '@callboard/contract';
import type { TurnMark } from '../going-back-records.ts';
import type { CommentRecord } from '../records.ts';

/** Comments on the changes of stages. */
export interface CommentsTable {
  /** Oldest first. */
  listOf(stageId: StageId): Promise<CommentRecord[]>;
  find(stageId: StageId, commentId: CommentId): Promise<CommentRecord | null>;
  /** The comments that went with this message. */
  listSentWith(stageId: StageId, messageId: MessageId): Promise<CommentRecord[]>;
  /** The comments that were sent and that no turn has answered yet. */
  listUnanswered(stageId: StageId): Promise<CommentRecord[]>;
  /** Inserts or replaces it. */
  save(comment: CommentRecord): Promise<void>;
  remove(stageId: StageId, commentId: CommentId): Promise<void>;
}

/** Which versions of files each person ticked as viewed. */
export interface ViewedTable {
  listOf(stageId: StageId, person: string): Promise<ViewedFiles>;
  /** Inserts or replaces it. */
  save(stageId: StageId, person: string, file: { path: string; version: string }): Promise<void>;
  remove(stageId: StageId, person: string, path: string): Promise<void>;
}

/** How many marks of a stage are kept. */
export const MAX_MARKS = 100;

/** What the worktrees looked like between turns. */
export interface TurnMarksTable {
  /** The newest mark of a turn that ended before this instant, or of all turns; null if there is none. */
  newestOf(stageId: StageId, before?: string): Promise<TurnMark | null>;
  /** The newest mark with a commit from before this transcript entry; null if there is none. */
  newestBefore(stageId: StageId, index: number): Promise<TurnMark | null>;
  /** Claude Code's ids of the stage's conversations, as far as there are marks of them, newest first. */
  conversationsOf(stageId: StageId): Promise<string[]>;
  countOf(stageId: StageId): Promise<number>;
  /** Inserts or replaces it, and forgets all but the newest marks of the stage. */
  save(stageId: StageId, mark: TurnMark): Promise<void>;
}
