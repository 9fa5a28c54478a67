import { CONTINUE_MESSAGE, type StageView } from '@callboard/contract';

/** One click that continues a stage that stopped before it finished. */
export interface ContinueAction {
  /** `start` starts a process; `message` writes to the running one. */
  by: 'start' | 'message';
  label: 'Start again' | 'Continue';
  /** What the click does, to follow the label. */
  does: string;
}

/**
 * How to continue a stage whose last turn failed or was interrupted. Null if there is nothing to continue, under alarm, in a terminal,
 * or if queued messages should be released instead.
 */
export function continueAction({ session, completedAt, adopted }: StageView): ContinueAction | null {
  if (session === null || completedAt !== null || session.lastTurn?.outcome === 'succeeded') return null;
  if (session.alarm !== null || session.terminal !== null) return null;
  // A conversation from a terminal goes on with the next message.
  if (adopted !== null && session.lastTurn === null && session.state === 'ended' && session.queued === 0) return null;
  switch (session.state) {
    case 'idle':
      if (session.lastTurn === null || session.queued > 0) return null;
      return { by: 'message', label: 'Continue', does: `tells Claude “${CONTINUE_MESSAGE}”` };
    case 'ended':
    case 'failed':
      return {
        by: 'start',
        label: session.sessionId === null ? 'Start again' : 'Continue',
        does: `starts Claude’s process${excerpt(session)}`,
      };
    case 'starting':
    case 'busy':
    case 'waiting':
      return null;
    default:
      return session.state satisfies never;
  }
}

/** The first message of a restarted process. */
function excerpt({ queued, lastTurn }: NonNullable<StageView['session']>): string {
  if (queued > 0) return ', with the first message that waits';
  return lastTurn === null ? '' : ` and tells it “${CONTINUE_MESSAGE}”`;
}
