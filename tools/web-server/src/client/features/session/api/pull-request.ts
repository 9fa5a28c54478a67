import type { CommandInput, PullRequest, StageView } from '@callboard/contract';
import { notifications } from '@mantine/notifications';
import { keepPreviousData, queryOptions, useQueryClient } from '@tanstack/react-query';
import { useCommand } from '../../../data/use-command.tsx';
import { client } from '../../../lib/api-client.ts';
import { pullRequestText } from '../../../lib/pull-request-words.ts';

/** What opening a pull request would do, read again after each turn and each push. */
export const pullRequestPlanQuery = ({ id, session, pullRequest, worktree }: StageView) =>
  queryOptions({
    queryKey: ['pull-request', id, session?.state, session?.lastTurn?.at, pullRequest?.head, worktree?.branch],
    queryFn: async ({ signal }) => (await client.command('get_pull_request', { stageId: id }, { signal })).plan,
    placeholderData: keepPreviousData,
    staleTime: 0,
  });

/** Returns a function that has the plan of the stage's pull request read again. */
export function useReadPullRequestPlan({ id }: StageView): () => void {
  const cache = useQueryClient();
  return () => void cache.invalidateQueries({ queryKey: ['pull-request', id] });
}

/** Failed checks and comments, as they are at the code host. */
export const feedbackQuery = ({ id }: StageView, { number, checks, unresolved, checkedAt }: PullRequest) =>
  queryOptions({
    queryKey: ['feedback', id, number, checks, unresolved, checkedAt],
    queryFn: async ({ signal }) => (await client.command('get_feedback', { stageId: id }, { signal })).feedback,
    placeholderData: keepPreviousData,
    staleTime: 0,
  });

type Order = Omit<CommandInput<'open_pull_request'>, 'stageId'>;

/** Pushes, and opens a pull request. The caller shows refusals. */
export const useOpenPullRequest = (stage: StageView, done: () => void) =>
  useCommand({
    run: (order: Order) => client.command('open_pull_request', { stageId: stage.id, ...order }),
    done: ({ stage: { title, pullRequest } }) => {
      if (pullRequest !== null)
        notifications.show({ title, message: pullRequestText(pullRequest), color: 'gray', autoClose: 10_000 });
      done();
    },
  });

export const useRefreshPullRequest = (stage: StageView) =>
  useCommand({
    run: (_: undefined) => client.command('refresh_pull_request', { stageId: stage.id }),
    failed: 'The code host was not asked',
    stageId: () => stage.id,
  });

type Chosen = Omit<CommandInput<'send_feedback'>, 'stageId'>;

/** Sends what came back of the pull request to Claude. */
export const useSendFeedback = (stage: StageView, done: () => void) =>
  useCommand({
    run: (chosen: Chosen) => client.command('send_feedback', { stageId: stage.id, ...chosen }),
    failed: 'Nothing was sent to Claude',
    stageId: () => stage.id,
    done,
  });
