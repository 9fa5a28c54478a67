import { messageOf, OperationalError, systemCode } from '../../lib/errors.ts';

/** Why what a process printed cannot be read, as a notice of the transcript says it. */
export function unreadableText(error: unknown, isOfEarlierBoot: boolean): string {
  const isShort = error instanceof OperationalError && error.code === 'spool_truncated';
  const isGone = systemCode(error) === 'ENOENT';
  if (isOfEarlierBoot && (isShort || isGone)) return LOST_IN_A_POWER_CUT;
  return `What Claude Code printed from here on cannot be read and is missing: ${words()}`;

  function words(): string {
    if (isShort) return `the file that it prints to was made shorter by somebody (${messageOf(error)}).`;
    if (isGone) return 'the file that it printed to was deleted.';
    return `${messageOf(error)}.`;
  }
}

const LOST_IN_A_POWER_CUT =
  'The machine lost power or was reset, and what Claude Code had printed last was not on disk yet: the last second before that may be missing here. Look at the changes in the worktree, then send a message to continue.';
