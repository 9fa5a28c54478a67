import {
  type AlarmCode,
  awaitedTasks,
  awaitsTasks,
  checkAtGate,
  checkGateText,
  hasFailed,
  type RequestId,
  type SessionSummary,
  type StageId,
  type StageView,
  spentText,
} from '@callboard/contract';
import { BEFORE_START_TEXTS, beforeStart } from './before-start.ts';
import { isLoggedOutStage } from './claude-words.ts';
import { clockTime } from './format.ts';
import { limitWaitText } from './limit-words.ts';
import { finishingText } from './pull-request-words.ts';
import { openReview, reviewProblem, reviewText } from './review-words.ts';

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
