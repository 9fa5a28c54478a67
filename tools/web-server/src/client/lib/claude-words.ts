import type { ClaudeState, StageView } from '@callboard/contract';

/** A short word on Claude Code itself, for the header; null while nothing is known to be wrong. */
export function claudeLabel({ state }: Pick<ClaudeState, 'state'>): string | null {
  switch (state) {
    case 'missing':
      return 'Claude: not found';
    case 'not-logged-in':
      return 'Claude: not logged in';
    case 'ready':
    case 'unknown':
      return null;
    default:
      return state satisfies never;
  }
}

/** Whether the stage has stopped because Claude is not logged in, and has not gone on since. */
export const isLoggedOutStage = ({ session, completedAt }: StageView): boolean =>
  session?.lastTurn?.code === 'not-logged-in' &&
  completedAt === null &&
  session.alarm === null &&
  (session.state === 'idle' || session.state === 'ended');
