import { z } from 'zod';
import { ObjectId, SeenDiff } from './changes.ts';
import { CommitOrder } from './merge.ts';

/** How a stage is finished without a person, after its last gate. */
export const FinishWay = z.enum(['none', 'merge', 'pull-request']);
export type FinishWay = z.infer<typeof FinishWay>;

/** Where a pull request is: GitLab calls it a merge request. */
export const CodeHostKind = z.enum(['github', 'gitlab']);
export type CodeHostKind = z.infer<typeof CodeHostKind>;

export const PullRequestState = z.enum(['draft', 'open', 'merged', 'closed']);
export type PullRequestState = z.infer<typeof PullRequestState>;

/** `none`: there are no checks. `pending`: some have not ended, and none has failed. */
export const ChecksState = z.enum(['none', 'pending', 'passing', 'failing']);
export type ChecksState = z.infer<typeof ChecksState>;

/** A stage's pull request, as the code host last told of it. */
export const PullRequest = z.object({
  host: CodeHostKind,
  number: z.int().positive(),
  url: z.string(),
  title: z.string(),
  state: PullRequestState,
  /** The branch that it is to go into, and its own, as the remote calls them. */
  base: z.string(),
  branch: z.string(),
  /** Its newest commit there. */
  head: z.string(),
  checks: ChecksState,
  /** The names of the first failing checks. */
  failing: z.array(z.string()),
  /** The number of review comments that nobody has resolved; null if the host does not tell. */
  unresolved: z.int().nonnegative().nullable(),
  /** Whether it conflicts with its base. */
  conflicts: z.boolean(),
  /** The commit that brought it into its base; null unless it is merged. */
  mergeCommit: z.string().nullable(),
  /** Since when the host told all this; it is asked again and again. */
  checkedAt: z.iso.datetime(),
  /** Why the host could not be asked since; null if it could. */
  stale: z.string().nullable(),
  /** Whether what its end means for the stage was done: a merged one completes it once. */
  isSettled: z.boolean().default(false),
});
export type PullRequest = z.infer<typeof PullRequest>;

export const isOpenPullRequest = ({ state }: Pick<PullRequest, 'state'>): boolean =>
  state === 'open' || state === 'draft';

/** Why a pull request cannot be opened, or a stage not be finished, with a next step. */
export const FinishProblem = z.object({
  /** A problem code. */
  code: z.string(),
  /** The cause first. Below it, on lines of their own, what the program printed. */
  message: z.string(),
  /** A command to run in a terminal; null if there is none. */
  command: z.string().nullable(),
  /** A page on which a person can go on by hand; null if there is none. */
  url: z.string().nullable(),
});
export type FinishProblem = z.infer<typeof FinishProblem>;

const Title = z.string().trim().min(1, 'is empty').max(250, 'is longer than 250 characters');
const Body = z.string().max(60_000, 'is longer than 60,000 characters');

/** The issue that a stage was made of. */
export const StageIssue = z.object({
  host: CodeHostKind,
  number: z.int().positive(),
  url: z.string(),
  /** A sign of the title and the prompt that were made of it: others were written here. */
  taken: z.string(),
});
export type StageIssue = z.infer<typeof StageIssue>;

/** What is being finished, or could not be, by a person or by Callboard itself. */
export const Finishing = z.object({
  way: z.enum(['merge', 'pull-request']),
  /** `under-way` is continued after a restart. */
  state: z.enum(['under-way', 'done', 'refused']),
  by: z.string(),
  at: z.iso.datetime(),
  /** The end of the turn after which Callboard finished the stage by itself; null if a person ordered it. */
  turn: z.iso.datetime().nullable(),
  /** The pull request to open; null for a merge, and once it is open. */
  order: z
    .object({ id: z.string(), title: z.string(), body: z.string(), draft: z.boolean(), head: ObjectId })
    .nullable(),
  problem: FinishProblem.nullable(),
});
export type Finishing = z.infer<typeof Finishing>;

/**
 * Pushes the stage's branch and opens a pull request for it, or pushes to the one that is open. A title or text that is left out
 * is drafted. With `commit`, `head` and `tree` as in completing a stage.
 */
export const PullRequestBody = z.strictObject({
  title: Title.optional(),
  body: Body.optional(),
  draft: z.boolean().optional(),
  /** Adds the receipt of the stage to the text. */
  receipt: z.boolean().optional(),
  commit: CommitOrder.optional(),
  ...SeenDiff.shape,
});
export type PullRequestBody = z.infer<typeof PullRequestBody>;

/** What opening a pull request would do now. */
export const PullRequestPlan = z.object({
  branch: z.string(),
  /** As in the diff. */
  head: ObjectId,
  tree: ObjectId,
  /** The branch of the remote that it would go into; null if there is none. */
  base: z.string().nullable(),
  remote: z.string().nullable(),
  /** "github.com/acme/shop"; null if the remote is on no code host. */
  repository: z.string().nullable(),
  /** The repository that it goes into if `repository` is a fork: "github.com/acme/shop". Null: the same one. */
  parent: z.string().nullable().default(null),
  host: CodeHostKind.nullable(),
  /** How many commits the base lacks, and how many of them the remote's branch lacks. */
  commits: z.int().nonnegative(),
  unpushed: z.int().nonnegative(),
  files: z.int().nonnegative(),
  uncommitted: z.array(z.string()),
  uncommittedCount: z.int().nonnegative(),
  /** Drafted from the stage and its commits. */
  title: z.string(),
  body: z.string(),
  problem: FinishProblem.nullable(),
});
export type PullRequestPlan = z.infer<typeof PullRequestPlan>;

/** A check that failed. */
export const FailedCheck = z.object({ name: z.string(), url: z.string().nullable() });
export type FailedCheck = z.infer<typeof FailedCheck>;

/** A review comment that nobody has resolved, with the answers to it. */
export const HostComment = z.object({
  id: z.string(),
  /** Null for one about the whole pull request. */
  path: z.string().nullable(),
  line: z.int().positive().nullable(),
  author: z.string(),
  text: z.string(),
  url: z.string().nullable(),
});
export type HostComment = z.infer<typeof HostComment>;

/** What a pull request got: failed checks, and comments that nobody has resolved. */
export const Feedback = z.object({ checks: z.array(FailedCheck), comments: z.array(HostComment) });
export type Feedback = z.infer<typeof Feedback>;

/** Chooses what is sent to Claude as its next message: the logs of failed checks, comments, or both. */
export const FeedbackBody = z.strictObject({
  /** Names of failed checks. */
  checks: z.array(z.string().max(500)).max(50).optional(),
  /** Ids of comments. */
  comments: z.array(z.string().max(500)).max(200).optional(),
  /** Has Claude merge the base, with which the pull request conflicts. */
  conflict: z.boolean().optional(),
});
export type FeedbackBody = z.infer<typeof FeedbackBody>;
