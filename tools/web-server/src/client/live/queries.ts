import type { BoardView, StageId } from '@callboard/contract';
import { TransportError } from '@callboard/contract/client';
import { type QueryClient, queryOptions } from '@tanstack/react-query';
import { client } from '../lib/api.ts';
import { type RecentEvents, recentEvents } from './recent-events.ts';
import { loadTranscript, type Transcript, withDecisions } from './transcript.ts';

// What the server knows, in the query cache. Nothing goes stale by itself: the event stream keeps all of it fresh.

const recentOf = new WeakMap<QueryClient, RecentEvents>();

/** The last events that came, for a board that is loaded while events arrive. */
export function recentOn(cache: QueryClient): RecentEvents {
  const recent = recentOf.get(cache) ?? recentEvents();
  recentOf.set(cache, recent);
  return recent;
}

export const boardQuery = queryOptions({
  queryKey: ['board'],
  queryFn: async ({ signal, client: cache }) => {
    const view = await client.command('get_board', {}, { signal });
    return recentOn(cache).catchUp(view);
  },
});

export const stageOf = (stageId: StageId) => (view: BoardView) => view.stages.find((stage) => stage.id === stageId);

/** Answers of a stage whose fate nobody knows. */
export const unsettledOf = (stageId: StageId) => (view: BoardView) =>
  view.unsettled.filter((decision) => decision.stageId === stageId);

/** A stage's queue; empty where there is no session yet. */
export const queueQuery = (stageId: StageId) =>
  queryOptions({
    queryKey: ['queue', stageId],
    queryFn: async ({ signal }) => {
      try {
        return await client.command('get_queue', { stageId }, { signal });
      } catch (error) {
        if (error instanceof TransportError && error.code === 'no_session') return { queue: [], held: false };
        throw error;
      }
    },
  });

/** Whoever comes back to a stage finds the transcript as far as they had loaded it, and their place in it. */
const KEEP_TRANSCRIPT_MS = 30 * 60_000;

export const transcriptQuery = (stageId: StageId) =>
  queryOptions({
    queryKey: ['transcript', stageId],
    gcTime: KEEP_TRANSCRIPT_MS,
    queryFn: async ({ signal, client, queryKey }) => {
      const loaded = await loadTranscript(stageId, client.getQueryData<Transcript>(queryKey), signal);
      return withDecisions(loaded, recentOn(client).decisions(stageId));
    },
  });
