import {
  type AlarmCode,
  awaitedTasks,
  awaitsTasks,
  type ClaudeState,
  checkAtGate,
  checkGateText,
  hasEnded,
  hasFailed,
  isActive,
  isChecking,
  isReviewing,
  type OpenDenial,
  type RequestId,
  type SessionSummary,
  type StageId,
  type StageView,
  spentText,
  type TurnOutcome,
} from '@callboard/contract';
import { denierText } from './denial-text.ts';
import { clockTime, count } from './format.ts';
import { limitWaitText, reviewWaits } from './limit-text.ts';
import { finishingText } from './pull-request-text.ts';
import { openReview, reviewProblem, reviewText } from './review-text.ts';

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

/** What kept Claude from being started in the worktree of a stage. */
export type BeforeStart = Exclude<NonNullable<TurnOutcome['code']>, 'not-logged-in' | 'usage-limit'>;

/** Null if nothing did, or the stage has gone on since. The stage's page then has a panel with what can be done. */
export function beforeStart({ session, completedAt }: StageView): BeforeStart | null {
  const code = session?.state === 'failed' && completedAt === null ? session.lastTurn?.code : null;
  return code == null || code === 'not-logged-in' || code === 'usage-limit' ? null : code;
}

/** A few words on each, for a row of the board. */
const BEFORE_START_TEXTS: Readonly<Record<BeforeStart, { text: string; tone: 'fail' | 'needs' }>> = {
  'setup-failed': { text: 'its worktree could not be set up', tone: 'fail' },
  'fetch-failed': { text: 'nothing could be fetched', tone: 'fail' },
  'settings-invalid': { text: 'callboard.yaml cannot be used', tone: 'fail' },
  'worktree-replaced': { text: 'worktree not in its place', tone: 'fail' },
  'settings-not-agreed': { text: 'callboard.yaml waits for your agreement', tone: 'needs' },
};

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

/** What raised the alarm, in a few words, for cards and titles of notices. */
export const ALARM_TEXTS: Readonly<Record<AlarmCode, string>> = {
  'foreign-answer': 'Request answered from outside',
  'foreign-control': 'Settings changed from outside',
  'foreign-message': 'Message that nobody sent',
  'foreign-mode': 'Mode changed from outside',
  'forged-output': 'Forged output',
  'foreign-rule': 'Rule that nobody added',
  'foreign-hook': 'Hook that nobody trusted',
  'transcript-mismatch': 'Transcript does not match',
  'used-login': 'Command acted as a person',
  'foreign-store': 'Store changed from outside',
};

/** A stage's situation in one line. */
export interface StageText {
  text: string;
  tone: 'plain' | 'needs' | 'fail' | 'done';
  /** A path in the text, shortened in its middle if there is no room. */
  path?: string;
}

const phaseName = ({ session, pipeline }: StageView, ahead: number): string =>
  pipeline[(session?.phaseIndex ?? 0) + ahead]?.name ?? 'the next phase';

/** The name of the stage's current phase. */
export const phaseNow = (stage: StageView): string => phaseName(stage, 0);

/** The name of the phase that waits for a person to start it. */
export const phaseNext = (stage: StageView): string => phaseName(stage, 1);

/** Why a stage without a request needs a person. */
export function stoppedText(stage: StageView): StageText {
  const { session } = stage;
  if (session !== null && session.alarm !== null)
    return { text: `Security alarm: ${ALARM_TEXTS[session.alarm.code].toLowerCase()}`, tone: 'needs' };
  const check = checkAtGate(stage);
  if (check !== null) return { text: checkGateText(check), tone: hasFailed(check) ? 'fail' : 'needs' };
  const review = openReview(stage);
  if (review !== null)
    return { text: reviewText(review), tone: reviewProblem(review.state) === null ? 'needs' : 'fail' };
  if (session?.atGate === true) return { text: `${phaseNow(stage)} finished`, tone: 'needs' };
  if (session !== null && session.stalledSince !== null && awaitsTasks(session))
    return { text: `Meant to keep running? ${taskNames(session)}`, tone: 'needs' };
  if (session !== null && session.stalledSince !== null)
    return { text: `silent since ${clockTime(session.stalledSince)}`, tone: 'needs' };
  if (session?.openDenial != null && session.lastTurn?.outcome === 'succeeded')
    return {
      text: `${session.openDenial.isDeferred === true ? 'A hook deferred' : 'Claude Code denied'} ${session.openDenial.asked}`,
      tone: 'needs',
    };
  if (session?.spentBudget != null) return { text: `Budget spent: ${spentText(session.spentBudget)}`, tone: 'needs' };
  const cause = beforeStart(stage);
  if (cause !== null) return BEFORE_START_TEXTS[cause];
  const atLimit = limitWaitText(stage);
  if (atLimit !== null) return { text: atLimit, tone: 'needs' };
  if (isLoggedOutStage(stage)) return { text: 'Claude is not logged in', tone: 'needs' };
  const unfinished = session?.lastTurn?.outcome === 'succeeded' ? finishingText(stage) : null;
  if (unfinished !== null) return { text: unfinished, tone: 'needs' };
  if (stage.adopted !== null && session?.lastTurn === null && session.state !== 'failed')
    return { text: 'waits for your next message', tone: 'needs' };
  const message = session?.lastTurn?.message;
  const because = message === null || message === undefined || message === '' ? '' : `: ${message}`;
  if (session?.state === 'failed') return { text: `failed${because}`, tone: 'fail' };
  if (session?.lastTurn?.outcome === 'failed') return { text: `the last turn failed${because}`, tone: 'fail' };
  if (session?.lastTurn?.outcome === 'interrupted') return { text: `interrupted${because}`, tone: 'needs' };
  return { text: 'stopped before it finished', tone: 'needs' };
}

/** The background tasks that the stage waits for. */
const taskNames = (session: Pick<SessionSummary, 'backgroundTasks'>): string =>
  awaitedTasks(session)
    .map(({ command, description }) => command ?? description)
    .join(', ');

/** A longer text is not read at a glance. */
const MAX_AT_A_GLANCE_LENGTH = 60;

/** The denied call that a stage stands for, if its row shows it in whole; null for any other stage. */
export function denialAtAGlance(stage: StageView): { stageId: StageId; requestId: RequestId } | null {
  const denial = stage.session?.openDenial ?? null;
  if (denial === null || denial.requestId === null || !canAcknowledgeDenial(stage)) return null;
  const isWhole = denial.asked.length <= MAX_AT_A_GLANCE_LENGTH && stage.session?.lastTurn?.outcome === 'succeeded';
  return isWhole ? { stageId: stage.id, requestId: denial.requestId } : null;
}

/** Whether the stage only needs a person to acknowledge what Claude Code denied. */
export const canAcknowledgeDenial = ({ session, completedAt }: StageView): boolean =>
  session !== null &&
  completedAt === null &&
  session.openDenial !== null &&
  session.alarm === null &&
  !session.atGate &&
  (session.state === 'idle' || session.state === 'ended');

type Reported = Pick<SessionSummary, 'cliVersion' | 'cliGaps'>;

/** How many features that Callboard relies on the session's Claude Code release lacks, in one line; null if none is known. */
export function gapsText({ cliVersion, cliGaps }: Reported): string | null {
  if (cliGaps.length === 0) return null;
  const release = cliVersion === null ? 'This release of Claude Code' : `Claude Code ${cliVersion}`;
  return `${release} lacks ${count(cliGaps.length, 'feature')} Callboard relies on`;
}

/** What is missing, one sentence each. */
export const gapSentences = ({ cliGaps }: Reported): string[] =>
  cliGaps.map((gap) => `${gap.charAt(0).toUpperCase()}${gap.slice(1)}.`);
