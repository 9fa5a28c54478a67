import { RewindRecord, SessionSummary } from '@callboard/contract';
import { z } from 'zod';

/** What sessions store of going back to an earlier message (docs/decisions/rewind.md). */

/** A conversation that another one begins as a copy of, up to a line (`until`; null: all of it). */
export const ForkOf = z.object({ fork: z.string(), until: z.string().nullable() });

/** What of a session belongs to its conversation, and goes back with it. */
export const ConversationState = SessionSummary.pick({
  sessionId: true,
  phaseIndex: true,
  atGate: true,
  check: true,
  todos: true,
  contextUsage: true,
  lastTurn: true,
  openDenial: true,
  queueHeld: true,
}).extend({
  forkOf: ForkOf.nullable(),
  turnMessages: z.array(z.string()),
  turnToFollow: z.boolean(),
  costCounted: z.number().nullable(),
  tokensCounted: z.number().nullable().default(null),
});
export type ConversationState = z.infer<typeof ConversationState>;

export const Rewinding = z.object({
  kind: z.enum(['rewind', 'undo']),
  /** The going back, or the one that is undone. */
  entry: RewindRecord,
  by: z.string(),
  /** The commit that the files are set to, and the one that keeps the present ones; null: the files stay. */
  files: z.object({ target: z.string(), kept: z.string() }).nullable(),
  /** What the conversation is set to; null: it stays. */
  conversation: ConversationState.nullable(),
  /** Files that stayed as they were; known once the others are set. */
  blocked: z.array(z.string()).default([]),
});
export type Rewinding = z.infer<typeof Rewinding>;

export const UndoRewind = z.object({
  /** The commit that keeps the files as they were; null: the files stayed. */
  files: z.string().nullable(),
  conversation: ConversationState.nullable(),
});

/** The files of a worktree when a turn had ended, before the next one began. */
export interface TurnMark {
  /** When the turn ended, or a person went back. */
  at: string;
  tree: string;
  /** The commit on a hidden ref that has the files; null: an older Callboard kept none. */
  commit: string | null;
  /** The newest transcript entry at that time; null in marks of an older Callboard. */
  place: number | null;
  /** Claude Code's id of the conversation at that time. */
  conversationId: string | null;
  phaseIndex: number;
}
