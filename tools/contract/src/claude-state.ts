import { z } from 'zod';

/** Whether the installed Claude Code can work, as far as Callboard knows. */
export const ClaudeState = z.object({
  /**
   * `unknown`: nothing was found out yet, or nothing can be. `ready`: a program and a login were found. `missing`: there is no
   * program. `not-logged-in`: Claude Code itself says so. The last two end without a restart when they are mended.
   */
  state: z.enum(['unknown', 'ready', 'missing', 'not-logged-in']),
  /** What is wrong and what to do, for people; null if nothing is known to be wrong. */
  why: z.string().nullable(),
  /** The command that mends it, to copy; null if there is none. */
  command: z.string().nullable(),
});
export type ClaudeState = z.infer<typeof ClaudeState>;

export const CLAUDE_UNCHECKED: ClaudeState = { state: 'unknown', why: null, command: null };

/** Whether a session that starts now would fail. */
export const isClaudeAway = ({ state }: Pick<ClaudeState, 'state'>): boolean =>
  state === 'missing' || state === 'not-logged-in';
