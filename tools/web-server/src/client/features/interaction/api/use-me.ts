import {
  type AlertSettings,
  type BoardView,
  type CommandInput,
  type CommandReply,
  type Later,
  type Me,
  NOBODY,
  type PendingRequest,
  type Presentation,
} from '@callboard/contract';
import { TransportError } from '@callboard/contract/client';
import { notifications } from '@mantine/notifications';
import { type QueryClient, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useMemo } from 'react';
import { boardQuery } from '../../../data/queries.ts';
import { useCommand } from '../../../data/use-command.tsx';
import { client, errorText } from '../../../lib/api-client.ts';
import { requestKey } from '../../../lib/request-text.ts';
import { useOverlayState } from '../model/overlay-queue.ts';

/** Returns what the server keeps for the person at this page. */
export const useMe = (): Me => useQuery({ ...boardQuery, select: (view) => view.me }).data ?? NOBODY;

/** Changes how requests present themselves to this person, on all devices. */
export function useSetPresentation() {
  const cache = useQueryClient();
  return useCommand({
    run: (presentation: Presentation) => client.command('update_me', { presentation }),
    failed: 'The setting was not changed',
    done: ({ me }: CommandReply<'update_me'>) => setMe(cache, (old) => ({ ...old, presentation: me.presentation })),
  });
}

/** Changes what is signalled to this person, and how, on all devices. */
export function useSetAlerts() {
  const cache = useQueryClient();
  return useCommand({
    run: (alerts: AlertSettings) => client.command('update_me', { alerts }),
    failed: 'The setting was not changed',
    done: ({ me }: CommandReply<'update_me'>) => setMe(cache, (old) => ({ ...old, alerts: me.alerts })),
  });
}

/** Returns the keys of the requests that this person set aside. */
export function useAside(): ReadonlySet<string> {
  const { later } = useMe();
  const leaving = useOverlayState((state) => state.leaving);
  return useMemo(() => new Set([...later.map(requestKey), ...leaving]), [later, leaving]);
}

/** Returns until when this person set the request aside; undefined if they did not. */
export function useLaterOf(request: Pick<PendingRequest, 'stageId' | 'requestId'>): Later | undefined {
  const key = requestKey(request);
  return useMe().later.find((later) => requestKey(later) === key);
}

type Request = Pick<PendingRequest, 'stageId' | 'requestId'>;

interface SetLater {
  requests: readonly Request[];
  /** Until when (null: for good); null takes it back. */
  later: { until: Date | null } | null;
}

/** Sets requests aside for this person, on all devices, or takes that back. */
export function useSetLater() {
  const cache = useQueryClient();
  const { leave, left } = useOverlayState.getState();
  return useMutation({
    mutationFn: async ({ requests, later: wanted }: SetLater) => {
      if (wanted !== null) leave(requests.map(requestKey));
      const time = wanted !== null && wanted.until === null ? {} : { until: wanted?.until?.toISOString() ?? null };
      const put = async ({ stageId, requestId }: Request) => {
        const later = await setLater({ stageId, requestId, ...time });
        if (later === 'decided') return;
        setMe(cache, (me) => withLater(me, { stageId, requestId }, later));
        left(requestKey({ stageId, requestId }));
      };
      await Promise.all(requests.map(put)); // at once: a page that is left right after Escape has sent all of them
    },
    onError: (error, { later }) =>
      notifications.show({
        title: later === null ? 'It is still set aside' : 'Set aside in this tab only',
        message: errorText(error),
        color: 'gray',
        autoClose: 12_000,
      }),
  });
}

/** Sets one request aside. One that was decided meanwhile stays away: its event is about to come. */
async function setLater(input: CommandInput<'set_later'>): Promise<Later | null | 'decided'> {
  try {
    return (await client.command('set_later', input)).later;
  } catch (error) {
    if (error instanceof TransportError && error.code === 'unknown_request') return 'decided';
    throw error;
  }
}

const withLater = (me: Me, request: Request, later: Later | null): Me => {
  const others = me.later.filter((other) => requestKey(other) !== requestKey(request));
  return { ...me, later: later === null ? others : [...others, later] };
};

function setMe(cache: QueryClient, change: (me: Me) => Me): void {
  cache.setQueryData(boardQuery.queryKey, (view: BoardView | undefined) => view && { ...view, me: change(view.me) });
}
