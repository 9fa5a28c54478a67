import { type BoardView, isWorking, type StageId } from '@callboard/contract';

/**
 * The stages that are to be started now by themselves, most urgent first, older first among equals, within the limit.
 */
export function pickRunnable({ stages }: Pick<BoardView, 'stages'>, maxParallel: number): StageId[] {
  const working = stages.filter(({ session }) => session !== null && isWorking(session.state)).length;
  return stages
    .filter(({ column, autoStart }) => column === 'ready' && autoStart)
    .toSorted((a, b) => a.priority - b.priority)
    .slice(0, Math.max(0, maxParallel - working))
    .map(({ id }) => id);
}
