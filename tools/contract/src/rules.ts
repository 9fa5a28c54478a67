import { z } from 'zod';
import { ProjectId, StageId } from './ids.ts';

/** Where a granted rule applies: in one stage, or in all stages of its project. */
export const RuleScope = z.enum(['stage', 'project']);
export type RuleScope = z.infer<typeof RuleScope>;

/**
 * A permission that a person granted permanently. Callboard stores it and passes it to every launch; it writes nothing
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
});
export type PermissionRule = z.infer<typeof PermissionRule>;
