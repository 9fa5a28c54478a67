import { hasEnded, isActive, isChecking, type StageView } from '@callboard/contract';
import { clockTime } from './format.ts';

/** "In a terminal since 14:05"; null for a stage that is not left to a terminal. */
export function inTerminalWords({ session }: Pick<StageView, 'session'>): string | null {
  return session?.terminal == null ? null : `In a terminal since ${clockTime(session.terminal.since)}`;
}

/** Whether the stage's conversation can be left to a terminal now. */
export const canLeaveToTerminal = ({ session, worktree, completedAt }: StageView): boolean =>
  session !== null &&
  session.sessionId !== null &&
  worktree !== null &&
  completedAt === null &&
  session.alarm === null &&
  session.terminal === null &&
  session.state !== 'starting' &&
  !isChecking(session);

/** What leaving it to a terminal ends, in words for whoever is about to. */
export function endsWords({ session }: StageView, pending: number): string {
  if (session === null || hasEnded(session.state)) return 'Claude’s process has ended already.';
  if (!isActive(session.state)) return 'Callboard ends Claude’s process in order.';
  const asks =
    pending === 0 ? '' : ` The ${pending === 1 ? 'open request is' : `${pending} open requests are`} closed.`;
  return `A turn is running. It is interrupted, and Callboard ends Claude’s process.${asks}`;
}
