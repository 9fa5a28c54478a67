import type { BoardView, StageId } from '@callboard/contract';

/**
 * The stages that are to be started now by themselves, most urgent first, older first among equals, within the limit.
 * Sessions that wait for a person, or are idle, do not count against it.
 */
export function pickRunnable({ stages }: Pick<BoardView, 'stages'>, maxParallel: number): StageId[] {
  const working = stages.filter(({ session }) => session?.state === 'starting' || session?.state === 'busy').length;
  return stages
    .filter(({ column, autoStart }) => column === 'ready' && autoStart)
    .toSorted((a, b) => a.priority - b.priority)
    .slice(0, Math.max(0, maxParallel - working))
    .map(({ id }) => id);
}
