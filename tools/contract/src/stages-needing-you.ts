import type { BoardView } from './board.ts';
import type { StageView } from './stages.ts';

type Needy = Pick<BoardView, 'stages' | 'pending' | 'unsettled'>;

/**
 * The stages that need a person: all in the column Needs you, and any other one with an alarm, a request or an answer of
 * unknown delivery (a stage that was completed meanwhile). The column, the badge, the bell, the tab's title and its
 * icon all count these.
 */
export function stagesNeedingYou({ stages, pending, unsettled }: Needy): StageView[] {
  const asking = new Set([...pending, ...unsettled].map(({ stageId }) => stageId));
  return stages.filter((stage) => stage.column === 'needs-you' || stage.session?.alarm != null || asking.has(stage.id));
}

export const needsYouCount = (view: Needy): number => stagesNeedingYou(view).length;

/** Those without a request, longest waiting first: failed, interrupted, silent, or at the end of a phase. */
export function stoppedStages(view: Needy): StageView[] {
  const asking = new Set([...view.pending, ...view.unsettled].map(({ stageId }) => stageId));
  return stagesNeedingYou(view)
    .filter((stage) => !asking.has(stage.id))
    .sort((a, b) => waitingSince(a).localeCompare(waitingSince(b)));
}

/** Since when a stage without a request waits for a person. */
export const waitingSince = ({ session, createdAt }: StageView): string =>
  session?.stalledSince ?? session?.stateSince ?? createdAt;
