import { CONTINUE_MESSAGE, type StageView } from '@callboard/contract';

/** One click that lets a stage go on which has stopped before its end. */
export interface ContinueAction {
  /** `start` starts a process; `message` tells the one that lives. */
  by: 'start' | 'message';
  label: 'Start again' | 'Continue';
  /** What the click does, to stand behind the label. */
  does: string;
}

/**
 * How a stage goes on whose last turn failed or was interrupted; null where there is nothing to go on with, under alarm,
 * or where messages wait that say it better: those are released.
 */
export function continueAction({ session, completedAt }: StageView): ContinueAction | null {
  if (session === null || completedAt !== null || session.alarm !== null || session.lastTurn?.outcome === 'succeeded')
    return null;
  switch (session.state) {
    case 'idle':
      if (session.lastTurn === null || session.queued > 0) return null;
      return { by: 'message', label: 'Continue', does: `tells Claude “${CONTINUE_MESSAGE}”` };
    case 'ended':
    case 'failed':
      return {
        by: 'start',
        label: session.sessionId === null ? 'Start again' : 'Continue',
        does: `starts Claude’s process${firstWords(session)}`,
      };
    case 'starting':
    case 'busy':
    case 'waiting':
      return null;
    default:
      return session.state satisfies never;
  }
}

/** What a process that is started again is told first. */
function firstWords({ queued, lastTurn }: NonNullable<StageView['session']>): string {
  if (queued > 0) return ', with the first message that waits';
  return lastTurn === null ? '' : ` and tells it “${CONTINUE_MESSAGE}”`;
}
