import type { SideRun, SideRunKind, StageView } from '@callboard/contract';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { applySideRun, sideRunsQuery } from '../../../data/review-queries.ts';
import { useCommand } from '../../../data/use-command.tsx';
import { client } from '../../../lib/api-client.ts';

/** The newest run of a kind; null if there is none, undefined while that is not known. */
export function useNewestRun({ id, worktree }: StageView, kind: SideRunKind): SideRun | null | undefined {
  const { data } = useQuery({ ...sideRunsQuery(id), enabled: worktree !== null });
  return data === undefined ? undefined : (data.find((run) => run.kind === kind) ?? null);
}

const FAILED = {
  review: 'Claude was not asked to review',
  'pull-request': 'Claude was not asked to write it',
} as const satisfies Record<SideRunKind, string>;

/** Asks Claude for a review of the changes, or for the text of a pull request. */
export function useStartRun(stage: StageView, kind: SideRunKind) {
  const cache = useQueryClient();
  return useCommand({
    run: (_: undefined) => client.command('start_side_run', { stageId: stage.id, kind }),
    failed: FAILED[kind],
    stageId: () => stage.id,
    done: ({ run }) => applySideRun(cache, run),
  });
}

export function useStopRun(stage: StageView) {
  const cache = useQueryClient();
  return useCommand({
    run: (runId: string) => client.command('stop_side_run', { stageId: stage.id, runId }),
    failed: 'Claude was not stopped',
    stageId: () => stage.id,
    done: ({ run }) => applySideRun(cache, run),
  });
}
