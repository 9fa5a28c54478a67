import { z } from 'zod';
import { ObjectId } from './changes.ts';
import { FindingSeverity } from './comments.ts';
import { StageId } from './ids.ts';

/** What Claude is asked beside a stage's conversation: to review its changes, or to write the text of its pull request. */
export const SideRunKind = z.enum(['review', 'pull-request']);
export type SideRunKind = z.infer<typeof SideRunKind>;

/**
 * `waiting`: it is due, and runs as soon as there is room. `failed`: there is no answer, or none that can be used. `interrupted`:
 * Callboard was restarted during it. After `failed`, `timed-out`, `stopped` and `interrupted`, `reason` says why.
 */
export const SideRunState = z.enum(['waiting', 'running', 'done', 'failed', 'timed-out', 'stopped', 'interrupted']);
export type SideRunState = z.infer<typeof SideRunState>;

/** Whether a run is due or under way. */
export const isUnderWay = ({ state }: { state: SideRunState }): boolean => state === 'waiting' || state === 'running';

/** A finding of Claude's review, in Claude's words. */
export const ReviewFinding = z.object({
  path: z.string(),
  side: z.enum(['old', 'new']).default('new'),
  line: z.int().positive(),
  endLine: z.int().positive().optional(),
  severity: FindingSeverity,
  text: z.string(),
});
export type ReviewFinding = z.infer<typeof ReviewFinding>;

/** A finding that names lines which the changes do not have, so that it is no comment. */
export const MisplacedFinding = ReviewFinding.extend({
  /** Why it has no place: a whole sentence. */
  why: z.string(),
});
export type MisplacedFinding = z.infer<typeof MisplacedFinding>;

/** The text of a pull request. */
export const PullRequestText = z.object({ title: z.string(), body: z.string() });
export type PullRequestText = z.infer<typeof PullRequestText>;

/** One run of Claude beside the conversation of a stage: it reads, changes nothing, and answers once. */
export const SideRun = z.object({
  id: z.uuid(),
  stageId: StageId,
  kind: SideRunKind,
  state: SideRunState,
  /** Who asked for it; null: Callboard, for a phase. */
  by: z.string().nullable(),
  /** The phase that it is the work of; null if a person asked beside the phases. */
  phaseIndex: z.int().nonnegative().nullable(),
  createdAt: z.iso.datetime(),
  startedAt: z.iso.datetime().nullable(),
  endedAt: z.iso.datetime().nullable(),
  /** Set if it met a usage limit of the account and waits for the reset; it runs again at `resumesAt`. `tries`: how often the limit should have reset. */
  limitWait: z
    .object({
      window: z.string().nullable(),
      resetsAt: z.iso.datetime().nullable(),
      goesOnAt: z.iso.datetime(),
      tries: z.int().nonnegative(),
    })
    .nullable()
    .default(null),
  /** Why it has no result, for people. */
  reason: z.string().nullable(),
  /** The changes that Claude was given; null before that. */
  diff: z.object({ base: ObjectId, tree: ObjectId }).nullable(),
  /** What it cost; null if unknown. */
  costUsd: z.number().nullable(),
  /** Claude's verdict in a few sentences. */
  summary: z.string().nullable(),
  /** How many findings became comments. */
  findings: z.int().nonnegative(),
  misplaced: z.array(MisplacedFinding),
  /** Of a run for a pull request. */
  text: PullRequestText.nullable(),
});
export type SideRun = z.infer<typeof SideRun>;

/** The newest review of a session's phase, as the board shows it. */
export const StageReview = z.object({
  runId: z.uuid(),
  state: SideRunState,
  findings: z.int().nonnegative(),
  /** Set while it waits for a usage limit: when it runs again. */
  goesOnAt: z.iso.datetime().nullable().default(null),
  /** When it entered `state`. */
  since: z.iso.datetime(),
});
export type StageReview = z.infer<typeof StageReview>;

/** Whether a review ended without a result. */
export const hasReviewFailed = ({ state }: Pick<StageReview, 'state'>): boolean =>
  state === 'failed' || state === 'timed-out' || state === 'stopped' || state === 'interrupted';
