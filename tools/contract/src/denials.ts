import { z } from 'zod';
import { RequestId } from './ids.ts';

/**
 * What made Claude Code deny a call without asking. `mode`: its permission mode, including the safety check of auto mode.
 * `rule`: a permission rule. `hook`: a hook in a settings file. `unknown`: the release does not say.
 */
export const DenialSource = z.enum(['mode', 'rule', 'hook', 'unknown']);
export type DenialSource = z.infer<typeof DenialSource>;

/** A denial by Claude Code itself. */
export const Denial = z.object({
  source: DenialSource,
  /** The mode, the rule, or the event of the hook, if known. */
  detail: z.string().nullable(),
  /** The settings that the rule stands in, as Claude Code calls them: `policySettings`; left out if unknown. */
  settings: z.string().optional(),
  /** With `hook`: it did not deny the call, it deferred it, which ended the turn. */
  isDeferred: z.literal(true).optional(),
});
export type Denial = z.infer<typeof Denial>;

/** A denial by Claude Code of the last call of a turn, which nobody has acknowledged yet. */
export const OpenDenial = Denial.extend({
  /** The denied call in one line: "Bash npm install". */
  asked: z.string(),
  at: z.iso.datetime(),
  /** Its entry in the decision log; null if it was denied under an earlier Callboard. */
  requestId: RequestId.nullable().default(null),
});
export type OpenDenial = z.infer<typeof OpenDenial>;

/** The name of the decider if nobody was asked. */
export const CLAUDE_CODE = 'Claude Code';
