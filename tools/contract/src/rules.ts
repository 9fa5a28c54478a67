import { z } from 'zod';
import { ProjectId, RequestId, StageId } from './ids.ts';

/** Where a granted rule applies: in one stage, or in all stages of its project. */
export const RuleScope = z.enum(['stage', 'project']);
export type RuleScope = z.infer<typeof RuleScope>;

/** The stage or the project in which a rule applies. */
export const RuleLocation = z.union([z.strictObject({ stageId: StageId }), z.strictObject({ projectId: ProjectId })]);
export type RuleLocation = z.infer<typeof RuleLocation>;

/** A permission rule as Claude Code writes it: `Bash(npm test)`, `WebFetch(domain:example.org)`, `mcp__tracker__list`. */
export const RuleText = z
  .string()
  .trim()
  .max(2_000)
  .regex(/^[A-Za-z][\w.-]*\*?(?:\([^\p{Cc}]+\))?$/u, 'is no permission rule. Write it like Bash(npm test)');

/**
 * A permission that a person granted. Callboard stores it and passes it to every launch; it writes nothing
 * into the worktree.
 */
export const PermissionRule = z.object({
  ruleId: z.string(),
  scope: RuleScope,
  projectId: ProjectId,
  /** Null for a rule that applies to the whole project. */
  stageId: StageId.nullable(),
  /**
   * What `rule` is. `allow`: a permission rule, for example `Bash(npm run *)`. `directory`: a folder that Claude may read.
   * `host`: a host that commands in the sandbox may reach, on every port.
   */
  kind: z.enum(['allow', 'directory', 'host']),
  rule: z.string(),
  by: z.string().nullable(),
  createdAt: z.iso.datetime(),
  /** When it stops by itself; null: never. */
  expiresAt: z.iso.datetime().nullable().default(null),
  /** When it stopped: it was removed, or its end date came. Null while it applies. */
  endedAt: z.iso.datetime().nullable().default(null),
  /** Who removed it; null if nobody did. */
  endedBy: z.string().nullable().default(null),
});
export type PermissionRule = z.infer<typeof PermissionRule>;

/** A rule with what it was used for. */
export const UsedRule = PermissionRule.extend({
  /** How many tool calls it let through. Null for a folder or a host, whose use Claude Code does not report. */
  uses: z.int().nonnegative().nullable(),
  lastUsedAt: z.iso.datetime().nullable(),
  /** The calls that it let through most often, in one line each. */
  usedFor: z.array(z.object({ asked: z.string(), count: z.int().positive() })),
  /** The newest calls that it let through, the last one first. */
  lastUses: z.array(
    z.object({
      stageId: StageId,
      /** The place of the call in the transcript; null for a call under an earlier Callboard. */
      entry: z.int().nonnegative().nullable(),
      asked: z.string(),
      at: z.iso.datetime(),
    }),
  ),
});
export type UsedRule = z.infer<typeof UsedRule>;

export const RulesQuery = z.strictObject({ projectId: ProjectId.optional() });

/** Exact rules for what a person has allowed again and again. */
export const RuleOffer = z.object({
  projectId: ProjectId,
  stageId: StageId,
  /** All of them are needed: one for each part of a compound command. */
  rules: z.array(z.string()).min(1),
  /** How often each of them was allowed at least, without a denial since. */
  times: z.int().positive(),
});
export type RuleOffer = z.infer<typeof RuleOffer>;

/** A denial that a rule would have turned into an allowance. */
export const DryRunDenial = z.object({
  stageId: StageId,
  requestId: RequestId,
  stageTitle: z.string().nullable(),
  asked: z.string(),
  by: z.string().nullable(),
  at: z.iso.datetime(),
  reason: z.string().nullable(),
});

/** What a rule would have done, had it applied all along. */
export const DryRun = z.object({
  /** How often Claude waited for a person's permission there. */
  waits: z.int().nonnegative(),
  /** How many of these waits the rule would surely have answered, and their length together. */
  answered: z.int().nonnegative(),
  waitedMs: z.int().nonnegative(),
  /** Waits that it may have answered as well: only Claude Code could tell. */
  unsure: z.int().nonnegative(),
  /** Calls that people denied and that it would have let through, newest first; at most 100 of `denied`. */
  wouldAllowDenied: z.array(DryRunDenial),
  denied: z.int().nonnegative(),
  /** The decisions before this were left out, because the log is too long; null: all of them count. */
  since: z.iso.datetime().nullable(),
});
export type DryRun = z.infer<typeof DryRun>;

/** Whether a denied call can be allowed and tried again. */
export const DenialRetry = z.object({
  /** What would be allowed for an hour in this stage; empty if it cannot be. */
  rules: z.array(z.string()),
  /** Why it cannot be allowed here, and what can be done instead; null if it can. */
  whyNot: z.string().nullable(),
});
export type DenialRetry = z.infer<typeof DenialRetry>;
