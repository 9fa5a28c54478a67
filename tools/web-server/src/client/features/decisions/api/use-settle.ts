import { type BoardView, boardView, type Decision } from '@callboard/contract';
import { TransportError } from '@callboard/contract/client';
import { notifications } from '@mantine/notifications';
import { type QueryClient, useMutation, useQueryClient } from '@tanstack/react-query';
import { boardQuery } from '../../../data/queries.ts';
import { client } from '../../../lib/api-client.ts';
import { requestKey } from '../../../lib/request-text.ts';
import { untilDelivered } from '../../../lib/until-delivered.ts';

export type Way = 'dismiss' | 'retry';
const WAYS = {
  dismiss: { command: 'dismiss_decision', how: 'dismissed' },
  retry: { command: 'retry_decision', how: 'retried' },
} as const;

/** Settles an answer whose fate is unknown. It leaves the board once the server confirms that it is settled. */
export function useSettle(decision: Decision) {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: (way: Way) => untilDelivered((attempt, signal) => settle(decision, way, attempt, signal)),
    onSuccess: () => removeUnsettled(cache, decision),
    onError(error) {
      if (!isConflict(error)) return;
      notifications.show({ title: 'This answer is settled', message: error.message, color: 'gray', autoClose: 15_000 });
      removeUnsettled(cache, decision);
    },
  });
}

/** Retrying is safe, as the server settles nothing twice. If our own earlier attempt had arrived after all, that is no conflict. */
async function settle({ stageId, requestId }: Decision, way: Way, attempt: number, signal: AbortSignal): Promise<void> {
  const { command, how } = WAYS[way];
  try {
    await client.command(command, { stageId, requestId }, { signal });
  } catch (error) {
    const isOurs = isConflict(error) && error.decision?.settlement?.how === how;
    if (attempt === 1 || !isOurs) throw error;
  }
}

const isConflict = (error: unknown): error is TransportError =>
  error instanceof TransportError && (error.code === 'already_settled' || error.code === 'nothing_to_settle');

function removeUnsettled(cache: QueryClient, decision: Decision): void {
  const key = requestKey(decision);
  cache.setQueryData(boardQuery.queryKey, (view: BoardView | undefined) =>
    view === undefined
      ? view
      : boardView({ ...view, unsettled: view.unsettled.filter((other) => requestKey(other) !== key) }),
  );
}
