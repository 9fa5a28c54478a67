import { z } from 'zod';
import { DenialSource } from './denials.ts';
import { ProjectId, StageId } from './ids.ts';
import { RequestKind, RequestOutcome } from './requests.ts';

export const DecisionSource = z.enum(['person', ...DenialSource.options]);
export type DecisionSource = z.infer<typeof DecisionSource>;
export const DecisionFilter = z.strictObject({
  projectId: ProjectId.optional(),
  stageId: StageId.optional(),
  outcome: RequestOutcome.optional(),
  kind: RequestKind.optional(),
  by: z.string().optional(),
  /** The browser or terminal that decided: `Chrome on Android`. */
  device: z.string().optional(),
  /** `person`: requests that a person was asked about. The others: the part of Claude Code that denied a call without asking. */
  source: DecisionSource.optional(),
  toolName: z.string().optional(),
  /** Decided at or after `since`, and before `before`. */
  since: z.iso.datetime().optional(),
  before: z.iso.datetime().optional(),
  limit: z.int().positive().max(1000).optional(),
});
export type DecisionFilter = z.infer<typeof DecisionFilter>;
