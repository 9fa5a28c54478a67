import {
  awaitsTasks,
  checkAtGate,
  checkGateText,
  hasFailed,
  isActive,
  isChecking,
  isReviewing,
  type OpenDenial,
  type StageView,
} from '@callboard/contract';
import { beforeStart } from './before-start.ts';
import { isLoggedOutStage } from './claude-words.ts';
import { denierText } from './denial-words.ts';
import { limitWaitText, reviewWaits } from './limit-words.ts';
import { finishingText } from './pull-request-words.ts';
import { openReview, reviewProblem, reviewText } from './review-words.ts';
import { inTerminalText } from './terminal-words.ts';

/** A stage's state, for the head of its page. `tone` selects the colour. */
export interface StateLabel {
  text: string;
  tone: 'plain' | 'needs' | 'fail' | 'done';
}

/** @param paused false: something that waited for a release waits for room now */
export function stateLabel(stage: StageView, pending: number, unsettled: number, paused = true): StateLabel {
  const { session } = stage;
  if (stage.completedAt !== null) return { text: 'Done', tone: stage.merged === null ? 'plain' : 'done' };
  if (session === null) return { text: stage.column === 'backlog' ? 'Backlog' : 'Ready to start', tone: 'plain' };
  if (session.alarm !== null) return { text: 'Security alarm', tone: 'needs' };
  const inTerminal = inTerminalText(stage);
  if (inTerminal !== null) return { text: inTerminal, tone: 'plain' };
  if (pending > 0) return { text: pending === 1 ? 'Needs you' : `Needs you, ${pending} requests`, tone: 'needs' };
  if (unsettled > 0) return { text: 'Needs you, an answer is unconfirmed', tone: 'needs' };
  if (session.stalledSince !== null && awaitsTasks(session))
    return { text: 'Background command, needs you', tone: 'needs' };
  if (session.stalledSince !== null) return { text: 'No sign of life', tone: 'needs' };
  switch (session.state) {
    case 'starting':
      return { text: stage.setup === 'due' && stage.worktree !== null ? 'Setting up' : 'Starting', tone: 'plain' };
    case 'busy':
      return {
        text:
          session.review?.goesOnAt != null
            ? reviewWaits(session.review.goesOnAt)
            : isReviewing(session)
              ? 'Claude is reviewing'
              : isChecking(session)
                ? 'Checking'
                : 'Running',
        tone: 'plain',
      };
    case 'waiting':
      return { text: 'Running, answer on its way', tone: 'plain' };
    case 'failed':
      return beforeStart(stage) === 'settings-not-agreed'
        ? { text: 'Needs you', tone: 'needs' }
        : { text: 'Failed', tone: 'fail' };
    case 'idle':
    case 'ended':
      return session.withheld ? { text: paused ? 'On hold' : GOES_ON, tone: 'plain' } : restText(stage);
    default:
      return session.state satisfies never;
  }
}

/** Of a stage that goes on by itself, and for which too many others work at the moment. */
export const GOES_ON = 'Continues when a slot is free';

/** The state of a stage that waits for a person between two phases. */
export const PHASE_FINISHED = 'Phase finished';

function restText(stage: StageView): StateLabel {
  const { session } = stage;
  if (session?.spentBudget != null) return { text: 'Budget spent, needs you', tone: 'needs' };
  const atLimit = limitWaitText(stage);
  if (atLimit !== null) return { text: atLimit, tone: stage.column === 'needs-you' ? 'needs' : 'plain' };
  if (isLoggedOutStage(stage)) return { text: 'Claude is not logged in', tone: 'needs' };
  const check = checkAtGate(stage);
  if (check !== null) return { text: checkGateText(check), tone: hasFailed(check) ? 'fail' : 'needs' };
  const review = openReview(stage);
  if (review !== null)
    return { text: reviewText(review), tone: reviewProblem(review.state) === null ? 'needs' : 'fail' };
  if (session?.atGate === true) return { text: PHASE_FINISHED, tone: 'needs' };
  switch (session?.lastTurn?.outcome) {
    case 'succeeded':
      if (session.openDenial?.isDeferred === true) return { text: 'Last call deferred, needs you', tone: 'needs' };
      if (session.openDenial !== null) return { text: 'Last call denied, needs you', tone: 'needs' };
      if (stage.column === 'needs-you') return { text: 'Could not be finished, needs you', tone: 'needs' };
      if (awaitsTasks(session)) return { text: 'Waiting for a background command', tone: 'plain' };
      return { text: 'Review', tone: 'plain' };
    case 'failed':
      return { text: 'Last turn failed', tone: 'fail' };
    case 'interrupted':
      return { text: 'Interrupted', tone: 'needs' };
    case undefined:
      return { text: 'Stopped before it finished', tone: 'needs' };
  }
}

/** Why the stage stopped, if its last turn says so; null if the state says it all. */
export function reasonText(stage: StageView): string | null {
  const { session, completedAt } = stage;
  if (isLoggedOutStage(stage) || beforeStart(stage) !== null || limitWaitText(stage) !== null) return null;
  if (session === null || completedAt !== null || session.atGate || session.alarm !== null || session.withheld)
    return null;
  if (session.terminal !== null) return null; // a person has it in hand
  if (isActive(session.state)) return null;
  if (session.lastTurn?.outcome !== 'succeeded') return session.lastTurn?.message ?? null;
  if (session.openDenial !== null) return denialReason(session.openDenial);
  return stage.column === 'needs-you' ? finishingText(stage) : null;
}

/** What was denied by whom, and what to do about it. */
const denialReason = (denial: OpenDenial): string =>
  denial.isDeferred === true ? deferralReason(denial) : ownDenialReason(denial);

const deferralReason = ({ asked }: OpenDenial): string =>
  `A hook deferred the last tool call of the turn, ${asked}: it did not run, and the turn ended. Nobody was asked. Send a message to continue, or press Seen to move the stage to Review.`;

const ownDenialReason = (denial: OpenDenial): string =>
  `Claude Code denied the last tool call of the turn, ${denial.asked}: ${denierText(denial)}. Nobody was asked. Send a message to continue, or press Seen to move the stage to Review.`;
