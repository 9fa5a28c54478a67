import { hasEnded, isActive, isChecking, type StageView } from '@callboard/contract';
import { clockTime } from './format.ts';

/** "In a terminal since 14:05"; null for a stage that is not left to a terminal. */
export function inTerminalText({ session }: Pick<StageView, 'session'>): string | null {
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

/** What leaving it to a terminal does, for whoever is about to: in a sentence, and on the button. */
export function leaveText({ session }: StageView, pending: number): { text: string; verb: string } {
  if (session === null || hasEnded(session.state)) return { text: 'Claude’s process has ended.', verb: 'Copy command' };
  if (!isActive(session.state))
    return { text: 'Claude’s process will be ended gracefully.', verb: 'End process and copy command' };
  const asks =
    pending === 0 ? '' : ` The ${pending === 1 ? 'open request' : `${pending} open requests`} will be closed.`;
  const text = `A turn is running. It will be interrupted, and Claude’s process ended.${asks}`;
  return { text, verb: 'Interrupt and copy command' };
}
