import type {
  Attachment,
  BoardView,
  Capabilities,
  Decision,
  DecisionFilter,
  Login,
  PendingRequest,
  ProjectId,
  SideRun,
  StageFieldWith,
  StageId,
} from '@callboard/contract';
import { TransportError } from '@callboard/contract/client';
import {
  infiniteQueryOptions,
  MutationCache,
  QueryClient,
  queryOptions,
  skipToken,
  useQuery,
} from '@tanstack/react-query';
import { client, isLoggedOut, isTransient } from '../lib/api-client.ts';
import { loadTranscript, recentEventsOf, type Transcript, withDecisions } from './recent-events.ts';

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

/** Returns how this person reads the name of a person: their own is "You", on whatever device. */
export function usePersonText(): (name: string) => string {
  const { data: me } = useQuery({ ...boardQuery, select: (view) => view.me.name });
  return (name) => (name === me ? 'You' : name);
}

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

/** The logged-in browsers. */
export const loginsQuery = queryOptions({
  queryKey: ['logins'],
  queryFn: ({ signal }) => client.command('get_logins', {}, { signal }),
});

/** Logins created while this page is open. */
export const newLoginsQuery = queryOptions<readonly Login[]>({
  queryKey: ['new-logins'],
  queryFn: skipToken, // filled by events only
  gcTime: Number.POSITIVE_INFINITY,
});

/** Adds a login that was just created. */
export function addNewLogin(cache: QueryClient, login: Login): void {
  cache.setQueryData(newLoginsQuery.queryKey, (old = []) => [...old, login]);
  void cache.invalidateQueries({ queryKey: loginsQuery.queryKey });
}

/** Removes a login that has ended. */
export function removeLogin(cache: QueryClient, ended: string): void {
  cache.setQueryData(newLoginsQuery.queryKey, (old) => old?.filter(({ loginId }) => loginId !== ended));
  cache.setQueryData(
    loginsQuery.queryKey,
    (old) => old && { ...old, logins: old.logins.filter(({ loginId }) => loginId !== ended) },
  );
}

/** The comments on a stage's changes: all that were sent, findings, and this person's drafts. */
export const commentsQuery = (stageId: StageId) =>
  queryOptions({
    queryKey: ['comments', stageId],
    queryFn: async ({ signal }) => (await client.command('get_comments', { stageId }, { signal })).comments,
  });

/** By path: the version of the file that this person ticked as viewed. */
export const viewedQuery = (stageId: StageId) =>
  queryOptions({
    queryKey: ['viewed', stageId],
    queryFn: async ({ signal }) => (await client.command('get_viewed', { stageId }, { signal })).viewed,
  });

/** What Claude was asked beside the conversation, newest first. */
export const sideRunsQuery = (stageId: StageId) =>
  queryOptions({
    queryKey: ['side-runs', stageId],
    queryFn: async ({ signal }) => (await client.command('get_side_runs', { stageId }, { signal })).runs,
  });

/** Takes over what became of a run. */
export const applySideRun = (cache: QueryClient, run: SideRun): void =>
  void cache.setQueryData(sideRunsQuery(run.stageId).queryKey, (old) => {
    if (old === undefined) return old;
    const isKnown = old.some(({ id }) => id === run.id);
    return isKnown ? old.map((one) => (one.id === run.id ? run : one)) : [run, ...old];
  });

/** The branches of a project's repository. */
export const branchesQuery = (projectId: ProjectId | undefined) =>
  queryOptions({
    queryKey: ['branches', projectId],
    queryFn:
      projectId === undefined ? skipToken : ({ signal }) => client.command('get_branches', { projectId }, { signal }),
    staleTime: 5_000,
  });

/** The content of a file of the stage's first message. It never changes. */
export const attachmentQuery = (stageId: StageId, fileId: string) =>
  queryOptions({
    queryKey: ['attachment', stageId, fileId],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async ({ signal }): Promise<Attachment> =>
      (await client.command('get_attachment', { stageId, fileId }, { signal })).file,
  });

export function createQueryClient(): QueryClient {
  const cache: QueryClient = new QueryClient({
    defaultOptions: {
      queries: {
        // The event stream keeps everything up to date.
        staleTime: Number.POSITIVE_INFINITY,
        refetchOnWindowFocus: false,
        refetchOnReconnect: false,
        // The server runs on this machine, whatever the browser thinks of the network.
        networkMode: 'always',
        retry: (_failures, error) => isTransient(error),
        retryDelay: (failures) => Math.min(250 * 2 ** failures, 2_000),
      },
      // A command is sent once: only the server knows whether it arrived.
      mutations: { networkMode: 'always', retry: false },
    },
    mutationCache: new MutationCache({
      // Reloading the board shows whether the login has ended.
      onError: (error) => {
        if (isLoggedOut(error)) void cache.invalidateQueries({ queryKey: boardQuery.queryKey });
      },
    }),
  });
  return cache;
}

/** Returns how to read the values of a text field that the stages have, sorted. */
export const valuesOf =
  (key: StageFieldWith<'isText'>) =>
  ({ stages }: Pick<BoardView, 'stages'>): string[] =>
    [...new Set(stages.flatMap((stage): string[] => (stage[key] === null ? [] : [stage[key]])))].sort((a, b) =>
      a.localeCompare(b, undefined, { numeric: true }),
    );

/** The groups that people gave to stages, by name. */
export const ownGroups = valuesOf('group');
