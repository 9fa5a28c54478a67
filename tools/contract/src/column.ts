import { awaitsTasks } from './background-tasks.ts';
import { isActive, type SessionSummary } from './sessions.ts';
import type { Column, Stage } from './stages.ts';

/** The facts that determine a stage's column. */
export interface ColumnFacts {
  stage: Pick<Stage, 'completedAt' | 'held' | 'dependsOn'> & Partial<Pick<Stage, 'finishing'>>;
  session: Pick<
    SessionSummary,
    | 'state'
    | 'lastTurn'
    | 'atGate'
    | 'stalledSince'
    | 'alarm'
    | 'openDenial'
    | 'terminal'
    | 'limitWait'
    | 'withheld'
    | 'spentBudget'
    | 'backgroundTasks'
  > | null;
  /** The number of the stage's pending requests. */
  pending: number;
  /** The number of its unconfirmed answers that nobody has settled. */
  unsettled: number;
  /** Whether the stage with this id is done; false for an unknown id (dependencies fail closed). */
  isDone: (stageId: string) => boolean;
}

/** Returns the column of a stage. The server and the browser share this function, so they cannot disagree. */
export function column({ stage, session, pending, unsettled, isDone }: ColumnFacts): Column {
  if (stage.completedAt !== null) return 'done';
  if (pending > 0 || unsettled > 0) return 'needs-you';
  if (session?.alarm != null) return 'needs-you';
  if (session === null) return stage.held || !stage.dependsOn.every(isDone) ? 'backlog' : 'ready';
  if (session.terminal !== null) return 'running'; // a person works on it, elsewhere
  const { state } = session;
  // `waiting` without an open request: the answer was given, and Claude has not reacted yet.
  if (isActive(state)) return session.stalledSince === null ? 'running' : 'needs-you';
  if (session.spentBudget !== null) return 'needs-you';
  switch (state) {
    case 'failed':
      return 'needs-you';
    case 'idle':
    case 'ended':
      if (session.limitWait !== null && session.limitWait.goesOnAt !== null) return 'running'; // it goes on by itself
      if (session.withheld) return 'running'; // it goes on when a person releases it
      if (session.atGate || session.openDenial !== null) return 'needs-you';
      // Callboard could not finish it by itself.
      if (isRefused(stage, session)) return 'needs-you';
      if (session.lastTurn?.outcome !== 'succeeded') return 'needs-you';
      if (awaitsTasks(session)) return session.stalledSince === null ? 'running' : 'needs-you';
      return 'review';
    default:
      return state satisfies never;
  }
}

/** Whether Callboard could not finish the stage by itself after its newest turn. */
const isRefused = ({ finishing }: ColumnFacts['stage'], session: Pick<SessionSummary, 'lastTurn'>): boolean =>
  finishing?.state === 'refused' && finishing.turn !== null && finishing.turn === session.lastTurn?.at;
