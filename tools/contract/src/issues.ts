import { z } from 'zod';
import { StageId } from './ids.ts';
import { CodeHostKind, FinishProblem } from './pull-requests.ts';
import { StageView } from './stages.ts';

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
