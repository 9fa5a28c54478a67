import {
  type AlertSettings,
  type BoardView,
  type CommandInput,
  type CommandReply,
  type Later,
  type Me,
  NOBODY,
  type PendingRequest,
  Presentation,
} from '@callboard/contract';
import { TransportError } from '@callboard/contract/client';
import { Menu } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { type QueryClient, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useMemo } from 'react';
import { create } from 'zustand';
import { boardQuery } from '../../data/queries.ts';
import { useCommand } from '../../data/use-command.tsx';
import { client, errorText } from '../../lib/api-client.ts';
import { requestKey } from '../../lib/format.ts';

const TEXTS: Readonly<Record<Presentation, string>> = {
  overlay: 'Over the page',
  panel: 'Beside the page',
  quiet: 'Only a card in the corner',
};

/** How requests present themselves to this person, as items of a menu. */
export function PresentationItems() {
  const { presentation } = useMe();
  const set = useSetPresentation();
  return (
    <Menu.RadioGroup value={presentation} onChange={(value) => set.mutate(Presentation.parse(value))}>
      <Menu.Label>Requests appear</Menu.Label>
      {Presentation.options.map((option) => (
        <Menu.RadioItem key={option} value={option}>
          {TEXTS[option]}
        </Menu.RadioItem>
      ))}
    </Menu.RadioGroup>
  );
}

/** Returns what the server keeps for the person at this page. */
export const useMe = (): Me => useQuery({ ...boardQuery, select: (view) => view.me }).data ?? NOBODY;

/** Changes how requests present themselves to this person, on all devices. */
function useSetPresentation() {
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
        title: later === null ? 'It is still snoozed' : 'Snoozed in this tab only',
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

interface OverlayState {
  /** The requests that this tab is setting aside; also those that the server could not be told of. */
  leaving: ReadonlySet<string>;
  /** The request that a person asked to see. It may open over a page that has its own form. */
  looked: string | null;
  /** The request that was snoozed by a swipe just now, which can be taken back. */
  swiped: PendingRequest | null;
  leave(keys: Iterable<string>): void;
  /** The server has been told. */
  left(key: string): void;
  check(key: string): void;
  stopChecking(): void;
  /** Offers for a moment to call a snoozed request back. */
  offerBack(request: PendingRequest): void;
  endOffer(): void;
}

/** As long as an answer by a tap is held back. */
const OFFER_MS = 2_000;

export const useOverlayState = create<OverlayState>((set) => ({
  leaving: new Set(),
  looked: null,
  swiped: null,
  leave: (keys) => set(({ leaving }) => ({ leaving: new Set([...leaving, ...keys]), looked: null })),
  left: (key) => set(({ leaving }) => ({ leaving: new Set([...leaving].filter((other) => other !== key)) })),
  check: (key) => set({ looked: key }),
  stopChecking: () => set({ looked: null }),
  offerBack(request) {
    set({ swiped: request });
    setTimeout(() => set(({ swiped }) => (swiped === request ? { swiped: null } : {})), OFFER_MS);
  },
  endOffer: () => set({ swiped: null }),
}));

/** Returns the overlay's queue: longest-waiting first, without requests that were set aside and without those of the open stage. */
export function overlayQueue(
  pending: readonly PendingRequest[],
  aside: ReadonlySet<string>,
  ownStageId: string | null,
): PendingRequest[] {
  return inOrder(pending).filter((request) => request.stageId !== ownStageId && !aside.has(requestKey(request)));
}

/** Sorts requests, longest-waiting first. */
export const inOrder = (pending: readonly PendingRequest[]): PendingRequest[] =>
  [...pending].sort((a, b) => a.createdAt.localeCompare(b.createdAt));

/** Returns where a request stands among those that wait: "1 of 3", or "1 new · 13 in the inbox". */
export function positionText(waiting: number, aside: number): string {
  if (aside === 0) return waiting > 1 ? `1 of ${waiting}` : '';
  return aside === waiting ? `${waiting} in the inbox` : `${waiting - aside} new · ${waiting} in the inbox`;
}
