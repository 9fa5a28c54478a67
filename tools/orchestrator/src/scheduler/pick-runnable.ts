import type { BoardView, SessionSummary, StageId } from '@callboard/contract';

/** Whether it counts against the limit: one that waits for a person, or is idle, does not. */
export const isWorking = ({ state }: Pick<SessionSummary, 'state'>): boolean =>
  state === 'starting' || state === 'busy';

/**
 * The stages that are to be started now by themselves, most urgent first, older first among equals, within the limit.
 */
export function pickRunnable({ stages }: Pick<BoardView, 'stages'>, maxParallel: number): StageId[] {
  const working = stages.filter(({ session }) => session !== null && isWorking(session)).length;
  return stages
    .filter(({ column, autoStart }) => column === 'ready' && autoStart)
    .toSorted((a, b) => a.priority - b.priority)
    .slice(0, Math.max(0, maxParallel - working))
    .map(({ id }) => id);
}
