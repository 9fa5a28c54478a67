import { type ClaudeState, isClaudeAway } from '@callboard/contract';
import type { LoginWatch } from './login-watch.ts';

/** Tells in words when Claude Code is found to be missing or not logged in, and when that is over. */
export function logClaudeUpdates(login: Pick<LoginWatch, 'state' | 'onChange'>, notify: (line: string) => void): void {
  let before = login.state();
  login.onChange(() => {
    const now = login.state();
    const line = updatesOf(before, now);
    before = now;
    if (line !== null) notify(line);
  });
}

function updatesOf(before: ClaudeState, now: ClaudeState): string | null {
  if (isClaudeAway(now)) return now.why;
  if (!isClaudeAway(before)) return null;
  return before.state === 'missing' ? 'Claude Code was found.' : 'Claude is logged in.';
}
