import { z } from 'zod';
import { StageView } from './stages.ts';

/** A conversation with Claude Code that was begun in a terminal, in a folder of a project. */
export const Conversation = z.object({
  conversationId: z.uuid(),
  /** The name that it has in Claude Code; null without one. */
  name: z.string().nullable(),
  /** The beginning of its first message. */
  firstWords: z.string(),
  /** Where it was begun, and on which branch; null if it does not tell. */
  folder: z.string(),
  branch: z.string().nullable(),
  startedAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
  /** How many messages a person wrote; null if the record is too large to be counted. */
  messages: z.int().nonnegative().nullable(),
  /** The size of its record. */
  bytes: z.int().nonnegative(),
  /** A Claude Code that is running has it open. */
  isOpen: z.boolean(),
});
export type Conversation = z.infer<typeof Conversation>;

/** A folder in which conversations were held, as it is now. */
export const ConversationFolder = z.object({
  folder: z.string(),
  /** The branch that it is on; null if it is on none. */
  branch: z.string().nullable(),
  /** The number of files with uncommitted changes. */
  uncommitted: z.int().nonnegative(),
});
export type ConversationFolder = z.infer<typeof ConversationFolder>;

export const ConversationList = z.object({
  /** Newest first, without those of stages. */
  conversations: z.array(Conversation),
  /** How many older ones are not listed. */
  older: z.int().nonnegative(),
  /** The checkouts of the repository that they were held in; a folder that is gone is not among them. */
  folders: z.array(ConversationFolder),
  /** Where Claude Code keeps its conversations. */
  source: z.string(),
});
export type ConversationList = z.infer<typeof ConversationList>;

export const AdoptBody = z.strictObject({
  conversationId: z.uuid(),
  /** By default the name of the conversation, or its first words. */
  title: z.string().trim().min(1, 'is empty').max(300, 'is longer than 300 characters').optional(),
  /** Whether the worktree begins with the uncommitted changes of the conversation's folder; they stay there as well. True by default. */
  uncommitted: z.boolean().optional(),
});
export type AdoptBody = z.infer<typeof AdoptBody>;

/** The stage that continues the conversation. */
export const AdoptReply = z.object({ stage: StageView });
