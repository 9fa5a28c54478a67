import { isActive, type SessionSummary } from './sessions.ts';
import type { Column, Stage } from './stages.ts';

/** All that a stage's column follows from. */
export interface ColumnFacts {
  stage: Pick<Stage, 'completedAt' | 'held' | 'dependsOn'>;
  session: Pick<SessionSummary, 'state' | 'lastTurn' | 'atGate' | 'stalledSince' | 'alarm' | 'openDenial'> | null;
  /** How many requests of the stage wait for an answer. */
  pending: number;
  /** How many answers there are whose fate is unknown, and that nobody has settled. */
  unsettled: number;
  /** Whether the stage of that id is done; an unknown id is not (dependencies fail closed). */
  isDone: (stageId: string) => boolean;
}

/** The column in which a stage stands. The server and the browser use this one function, so they cannot disagree. */
export function column({ stage, session, pending, unsettled, isDone }: ColumnFacts): Column {
  if (stage.completedAt !== null) return 'done';
  if (pending > 0 || unsettled > 0) return 'needs-you';
  if (session?.alarm != null) return 'needs-you';
  if (session === null) return stage.held || !stage.dependsOn.every(isDone) ? 'backlog' : 'ready';
  const { state } = session;
  // `waiting` without an open request: between the answer and the next sign of life.
  if (isActive(state)) return session.stalledSince === null ? 'running' : 'needs-you';
  switch (state) {
    case 'failed':
      return 'needs-you';
    case 'idle':
    case 'ended':
      if (session.atGate || session.openDenial !== null) return 'needs-you';
      return session.lastTurn?.outcome === 'succeeded' ? 'review' : 'needs-you';
    default:
      return state satisfies never;
  }
}
