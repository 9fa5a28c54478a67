import type {
  BoardView,
  Capabilities,
  Decision,
  DecisionFilter,
  PendingRequest,
  ProjectId,
  StageId,
} from '@callboard/contract';
import { TransportError } from '@callboard/contract/client';
import { infiniteQueryOptions, type QueryClient, queryOptions, useQuery } from '@tanstack/react-query';
import { client } from '../lib/api-client.ts';
import { recentEventsOf } from './recent-events.ts';
import { loadTranscript, type Transcript, withDecisions } from './transcript-pages.ts';

// What the server knows, in the query cache. No query goes stale with time: the event stream keeps all of them fresh.

/** The whole board. Events that arrive while it loads are applied to the answer. */
export const boardQuery = queryOptions({
  queryKey: ['board'],
  queryFn: async ({ signal, client: cache }) => {
    const view = await client.command('get_board', {}, { signal });
    return recentEventsOf(cache).catchUp(view);
  },
});

/** Selects one stage of the board; undefined if there is none with this id. */
export const stageOf = (stageId: StageId) => (view: BoardView) => view.stages.find((stage) => stage.id === stageId);

/** Selects the stage's answers whose delivery is unknown. */
export const unsettledOf = (stageId: StageId) => (view: BoardView) =>
  view.unsettled.filter((decision) => decision.stageId === stageId);

/** A stage's queue; empty if the stage has no session yet. */
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

/** On return to a stage the transcript is there as far as it was loaded, and so is the reader's place in it. */
const TRANSCRIPT_RETENTION_MS = 30 * 60_000;

/** The loaded part of a stage's transcript. */
export const transcriptQuery = (stageId: StageId) =>
  queryOptions({
    queryKey: ['transcript', stageId],
    gcTime: TRANSCRIPT_RETENTION_MS,
    queryFn: async ({ signal, client, queryKey }) => {
      const loaded = await loadTranscript(stageId, client.getQueryData<Transcript>(queryKey), signal);
      return withDecisions(loaded, recentEventsOf(client).decisions(stageId));
    },
  });

type CapabilitiesFilter = { stageId?: StageId; projectId?: ProjectId };

/** The slash commands and models Claude Code offers a stage, or a new stage of a project. Null until known. */
export function useCapabilities(filter: CapabilitiesFilter): Capabilities | null {
  const { data } = useQuery({
    queryKey: ['capabilities', filter],
    queryFn: ({ signal }) => client.command('get_capabilities', filter, { signal }),
  });
  return data?.capabilities ?? null;
}

const RULES_KEY = 'rules';

/** The permission rules of a project, or of all (null), with their use, and those that have ended. No event tells of a use. */
export const rulesQuery = (projectId: ProjectId | null) =>
  queryOptions({
    queryKey: [RULES_KEY, projectId],
    refetchOnMount: 'always',
    queryFn: ({ signal }) => client.command('list_rules', projectId === null ? {} : { projectId }, { signal }),
  });

/** Reloads the rules on screen. */
export const refreshRules = (cache: QueryClient): void => void cache.invalidateQueries({ queryKey: [RULES_KEY] });

const DECISIONS_KEY = 'decisions';
const DECISIONS_PAGE = 100;

/** The decision log in pages, newest first. */
export const decisionLogQuery = (filter: DecisionFilter) =>
  infiniteQueryOptions({
    queryKey: [DECISIONS_KEY, filter],
    initialPageParam: filter.before,
    queryFn: ({ pageParam, signal }) =>
      client.command('get_decisions', { ...filter, before: pageParam, limit: DECISIONS_PAGE }, { signal }),
    getNextPageParam: ({ next }) => next ?? undefined,
  });

/** Reloads the visible pages of the decision log after a decision or its delivery changed. */
export const refreshDecisionLog = (cache: QueryClient): void =>
  void cache.invalidateQueries({ queryKey: [DECISIONS_KEY] });

/** How a request ended that was open a moment ago: a form still on screen says so. */
export type Ending = { kind: 'decided'; decision: Decision } | { kind: 'withdrawn'; reason: string };

/** The key under which a request's ending stays in the query cache for a while. */
export const endingKey = ({ stageId, requestId }: Pick<PendingRequest, 'stageId' | 'requestId'>) =>
  ['ending', stageId, requestId] as const;
