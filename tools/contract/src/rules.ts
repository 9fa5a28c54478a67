import { z } from 'zod';
import { ProjectId, StageId } from './ids.ts';

/** For how long a granted rule holds: for one stage, or for all stages of its project. */
export const RuleScope = z.enum(['stage', 'project']);
export type RuleScope = z.infer<typeof RuleScope>;

/**
 * Something a person allowed for good. Callboard keeps it and gives it to every launch; nothing is written into the
 * worktree.
 */
export const PermissionRule = z.object({
  ruleId: z.string(),
  scope: RuleScope,
  projectId: ProjectId,
  /** Null for a rule of the whole project. */
  stageId: StageId.nullable(),
  /**
   * `allow`: `rule` is a permission rule such as `Bash(npm run *)`. `directory`: it is a folder that Claude may read. `host`:
   * it is a host that commands in the sandbox may reach, on every port.
   */
  kind: z.enum(['allow', 'directory', 'host']),
  rule: z.string(),
  by: z.string().nullable(),
  createdAt: z.iso.datetime(),
});
export type PermissionRule = z.infer<typeof PermissionRule>;
