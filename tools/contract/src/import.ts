import { z } from 'zod';
import { StageId } from './ids.ts';
import { CodeHostKind, FinishProblem } from './pull-requests.ts';
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

/** An absolute path, or one relative to the repository. */
export const ImportBody = z.strictObject({
  path: z.string().trim().min(1),
  /** Follows the folder from then on: the project's `stageFolders` gets it. */
  watch: z.boolean().optional(),
});
export const ImportReply = z.object({
  stages: z.array(StageView),
  created: z.int(),
  updated: z.int(),
  /** Unknown keys in the frontmatter of the files; the import ignored them. */
  ignored: z.array(z.object({ file: z.string(), keys: z.array(z.string()) })),
});

/** An issue of a code host. */
export const Issue = z.object({
  number: z.int().positive(),
  title: z.string(),
  url: z.string(),
  labels: z.array(z.string()),
  /** Who wrote it; null if the host does not tell. */
  author: z.string().nullable(),
  updatedAt: z.iso.datetime({ offset: true }).nullable(),
  /** The stage that was made of it; null if there is none. */
  stageId: StageId.nullable(),
});
export type Issue = z.infer<typeof Issue>;

export const IssuesQuery = z.strictObject({
  /** Words as the search of the host takes them. */
  q: z.string().trim().max(300).optional(),
  /** Only issues with this label. */
  label: z.string().trim().max(100).optional(),
});
export type IssuesQuery = z.infer<typeof IssuesQuery>;

/** How many issues are listed at most. */
export const LISTED_ISSUES = 100;

export const IssueList = z.object({
  /** Open issues, as the host sorts them. */
  issues: z.array(Issue),
  /** "github.com/acme/shop"; null if the remote names none. */
  repository: z.string().nullable(),
  host: CodeHostKind.nullable(),
  /** Why none can be listed, with the next step; null if they can. */
  problem: FinishProblem.nullable(),
});
export type IssueList = z.infer<typeof IssueList>;

export const ImportIssuesBody = z.strictObject({
  numbers: z.array(z.int().positive()).min(1, 'is empty').max(LISTED_ISSUES),
});

/** What became of the chosen issues. */
export const ImportIssuesReply = z.object({
  stages: z.array(StageView),
  created: z.int().nonnegative(),
  updated: z.int().nonnegative(),
  /** Stages that stay as they are: they were started, or somebody has edited them here. */
  kept: z.array(StageId),
});
export type ImportIssuesReply = z.infer<typeof ImportIssuesReply>;

/** Where to write the stages: a folder, absolute or relative to the repository. */
export const ExportBody = z.strictObject({ path: z.string().trim().min(1) });

/** What became of the files of an export. */
export const ExportReply = z.object({
  folder: z.string(),
  written: z.array(z.string()),
  unchanged: z.int().nonnegative(),
  /**
   * Files that stay as they are. `changed`: somebody changed it since it was last taken over or written. `another-stage`: it is no
   * file of this stage. `command`: the stage runs a command, which a file cannot say.
   */
  kept: z.array(z.object({ file: z.string(), reason: z.enum(['changed', 'another-stage', 'command']) })),
});
export type ExportReply = z.infer<typeof ExportReply>;
