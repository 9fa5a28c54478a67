import { asSentence } from '../../../lib/request-text.ts';

/** What Claude Code says whenever no rule covers a call. It tells a person nothing. */
const SAYS_NOTHING =
  /requires? approval|requested permissions?|(?:haven't|not) (?:yet )?granted|no (?:matching )?rule|permission (?:is )?required/i;

/** Why a call is asked for, as a sentence; null if that is only that calls are asked for. */
export function realReason(reason: string | null): string | null {
  if (reason === null || reason.trim() === '' || SAYS_NOTHING.test(reason)) return null;
  return asSentence(reason);
}
