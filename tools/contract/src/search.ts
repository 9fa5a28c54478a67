import { z } from 'zod';
import { ReviewComment } from './comments.ts';
import { ProjectId, StageId } from './ids.ts';
import { Column } from './stages.ts';

/**
 * What a result is a part of: a stage's `title` or `prompt`, a `comment` on its changes, or an entry of its transcript.
 * `message`: what a person wrote; `text`: what Claude wrote; `tool`: a call and its result; `notice`: what Callboard wrote.
 */
export const SearchKind = z.enum([
  'title',
  'prompt',
  'comment',
  'message',
  'text',
  'thinking',
  'tool',
  'decision',
  'notice',
]);
export type SearchKind = z.infer<typeof SearchKind>;

/**
 * What to look for. All words must occur in one text; "words in quotes" stand together; the last word may be unfinished, and so
 * may one with a `*`. Case and accents do not matter, and any text is a valid query.
 */
export const SearchQuery = z.strictObject({
  q: z.string().max(1_000, 'is longer than 1,000 characters'),
  projectId: ProjectId.optional(),
  stageId: StageId.optional(),
  /** The column in which the stage stands now. */
  column: Column.optional(),
  kind: SearchKind.optional(),
  /** Who wrote or decided it. */
  by: z.string().optional(),
  /** Written at or after this instant. */
  since: z.iso.datetime().optional(),
  /** Where the next page begins: the `next` of the page before. */
  before: z.string().max(30).optional(),
  limit: z.int().positive().max(200).optional(),
});
export type SearchQuery = z.infer<typeof SearchQuery>;

export const SearchResult = z.object({
  stageId: StageId,
  kind: SearchKind,
  /** The transcript entry; left out for everything else. */
  index: z.int().positive().optional(),
  /** The comment, and the lines that it is on now; left out for everything else. */
  comment: ReviewComment.pick({
    id: true,
    path: true,
    side: true,
    line: true,
    endLine: true,
    isFinding: true,
  }).optional(),
  /** A part of the text around the words, as plain text. */
  snippet: z.string(),
  /** Where the words stand in the snippet: pairs of a start and an end, in UTF-16 code units. */
  marks: z.array(z.tuple([z.int().nonnegative(), z.int().nonnegative()])),
  /** Who wrote or decided it; null if nobody did. */
  by: z.string().nullable(),
  /** The tool of a call; null for everything else. */
  toolName: z.string().nullable(),
  at: z.iso.datetime(),
});
export type SearchResult = z.infer<typeof SearchResult>;

/** How far the index has got, in entries. */
export const Indexing = z.object({ done: z.int().nonnegative(), total: z.int().nonnegative() });
export type Indexing = z.infer<typeof Indexing>;

/** Titles and prompts first, then the rest, newest first. */
export const SearchReply = z.object({
  results: z.array(SearchResult),
  /** Pass it as `before` to get the following page; null at the end. */
  next: z.string().nullable(),
  /** Set while the index is being built, so results may be missing; null if it is complete. */
  indexing: Indexing.nullable(),
});
export type SearchReply = z.infer<typeof SearchReply>;
