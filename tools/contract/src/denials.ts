import { z } from 'zod';

/**
 * What in Claude Code denied a call that nobody was asked about. `mode`: its permission mode, the safety check of auto mode
 * included. `rule`: a permission rule. `hook`: a hook of a settings file. `unknown`: a release that does not say.
 */
export const DenialSource = z.enum(['mode', 'rule', 'hook', 'unknown']);
export type DenialSource = z.infer<typeof DenialSource>;

/** A denial by Claude Code itself. */
export const Denial = z.object({
  source: DenialSource,
  /** Which one, as far as that is known: the mode, the rule, or the event that the hook belongs to. */
  detail: z.string().nullable(),
});
export type Denial = z.infer<typeof Denial>;

/** The last call of a turn, where Claude Code itself denied it: nobody has taken note of that yet. */
export const OpenDenial = Denial.extend({
  /** What was to be done, in one line: "Bash npm install". */
  asked: z.string(),
  at: z.iso.datetime(),
});
export type OpenDenial = z.infer<typeof OpenDenial>;

/** Who decides where nobody was asked. */
export const CLAUDE_CODE = 'Claude Code';
