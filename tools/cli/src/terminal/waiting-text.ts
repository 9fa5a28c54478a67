import {
  type BoardView,
  comingWakeUps,
  isActive,
  isPaused,
  type LimitWait,
  nearLimit,
  type Pause,
  type SessionSummary,
  type StageView,
  scopeText,
  spentText,
} from '@callboard/contract';
import { visibleLine } from './text.ts';

/** Says what keeps a session from its work that does not run: "budget spent: $1.20 of $1.00"; null if nothing does. */
export function waitingText(session: SessionSummary): string | null {
  const { state, terminal, withheld, queued, spentBudget, limitWait } = session;
  if (terminal !== null) return 'continued in a terminal';
  if (withheld) return queued === 0 ? 'on hold' : `on hold, ${queued} queued`;
  if (isActive(state)) return null;
  if (spentBudget !== null) return `budget spent: ${spentText(spentBudget)}`;
  return limitWait === null ? null : limitText(limitWait);
}

/** Says when a stage goes on that stopped at a usage limit: "usage limit, goes on at 14:05". */
function limitText({ goesOnAt, resetsAt }: LimitWait): string {
  if (goesOnAt !== null) return `usage limit, goes on at ${timeOf(goesOnAt)}`;
  return resetsAt === null ? 'usage limit' : `usage limit until ${timeOf(resetsAt)}`;
}

/** Says when Claude wakes by itself: "wakes at 14:05"; '' if it has planned nothing. */
export function wakeText(session: SessionSummary, now: Date): string {
  const [next] = comingWakeUps(session, now);
  if (next === undefined) return '';
  return next.at === null ? 'wakes repeatedly' : `wakes at ${timeOf(next.at)}`;
}

/** Says what a stage that was not started waits for: "on hold", "starts automatically (Waits for memory)"; '' for a person. */
export function unstartedText(stage: StageView, { holds, startHolds }: BoardView): string {
  if (isPaused(stage, holds)) return 'on hold';
  if (!stage.autoStart) return '';
  const pause = startHolds.find(({ stageIds }) => stageIds.includes(stage.id));
  return pause === undefined ? 'starts automatically' : `starts automatically (${visibleLine(pause.reason, 'prose')})`;
}

/** Says what keeps several stages from their work: a sentence for each hold, and for each budget that is spent or nearly so. */
export function boardNotices({ holds, budgets, projects }: BoardView): string[] {
  const nameOf = (id: string) => projects.find((project) => project.id === id)?.name ?? id;
  const held = ({ scope, by, at }: Pause) =>
    `${'projectId' in scope ? nameOf(scope.projectId) : 'everything'} has been on hold since ${timeOf(at)} (by ${by}).`;
  const spent = budgets.flatMap((budget) => {
    const near = nearLimit(budget);
    if (near === null || 'stageId' in near.scope) return [];
    const of = 'projectId' in near.scope ? `of ${nameOf(near.scope.projectId)}` : scopeText(near.scope);
    return [`the budget ${of} is ${near.spent < near.limit ? 'nearly spent' : 'spent'}: ${spentText(near)}.`];
  });
  return [...holds.map(held), ...spent].map((line) => visibleLine(line, 'prose'));
}

/** Says when Claude gets a message that was put into the queue. */
export function queuedText(stage: StageView, { holds, paused }: Pick<BoardView, 'holds' | 'paused'>): string {
  const { session } = stage;
  if (paused !== null) return `Queued: ${visibleLine(paused, 'prose')}`;
  if (session?.alarm != null) return 'Queued: a security alarm is open. Look at it on the board.';
  if (session?.terminal != null) return 'Queued: Claude gets it once the stage is taken back from the terminal.';
  if (isPaused(stage, holds)) return 'Queued: the stage is on hold. Claude gets it once somebody releases the stage.';
  if (session === null) return 'Queued: Claude gets it once the stage is started.';
  if (isActive(session.state)) return 'Queued: Claude gets it after this turn.';
  if (session.spentBudget !== null) {
    const { scope } = session.spentBudget;
    return `Queued: the budget ${scopeText(scope)} is spent (${spentText(session.spentBudget)}). Claude gets it once somebody raises it, or continues the stage once beyond it, on the board.`;
  }
  if (session.limitWait !== null) return `Queued: ${limitText(session.limitWait)}.`;
  if (session.queueHeld)
    return 'Queued: the queue is paused because the last turn did not succeed. Send it on the board.';
  return 'Queued: Claude gets it as soon as its session can run.';
}

/** The time of day, with the day if that is not today's. */
function timeOf(at: string): string {
  const date = new Date(at);
  const isToday = date.toDateString() === new Date().toDateString();
  const time = date.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' });
  return isToday ? time : `${date.toLocaleDateString('en-CA')} ${time}`;
}
