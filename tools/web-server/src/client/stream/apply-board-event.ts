import {
  type BoardEvent,
  type BoardNotices,
  type BoardView,
  foldBoard,
  type QueuedMessage,
  type StageId,
} from '@callboard/contract';
import type { QueryClient } from '@tanstack/react-query';
import {
  addNewLogin,
  applySideRun,
  boardQuery,
  commentsQuery,
  type Ending,
  endingKey,
  queueQuery,
  refreshDecisionLog,
  refreshRules,
  removeLogin,
  transcriptQuery,
  viewedQuery,
} from '../data/queries.ts';
import { joinTranscripts, lastIndex, loadAfter, recentEventsOf, withDecisions } from '../data/recent-events.ts';
import { applyDraft } from '../data/server-drafts.ts';
import { refreshDenialRetries } from '../data/stage-commands.ts';
import { applyCommand } from '../data/worktree-queries.ts';
import { dropBlocks, type StreamStore } from './stream-store.ts';

/**
 * Applies one event to the query cache; after a gap the board is reloaded. One that was applied changes nothing: it comes again
 * when another tab, which knew less, holds the stream. The board may be ahead of the events: it is also loaded as a whole.
 */
export function applyEvent(cache: QueryClient, event: BoardEvent): void {
  const recent = recentEventsOf(cache);
  if (event.seq <= (recent.position() ?? 0)) return;
  recent.add(event);
  saveEnding(cache, event);
  const view = cache.getQueryData(boardQuery.queryKey);
  if (view !== undefined && event.seq > view.seq + 1) void cache.invalidateQueries({ queryKey: boardQuery.queryKey });
  else if (view !== undefined) applyToBoard(cache, view, event);
  if (view !== undefined && hasStarted(view, event)) void cache.invalidateQueries({ queryKey: ['capabilities'] });
  applyToStage(cache, event);
}

function applyToBoard(cache: QueryClient, view: BoardView, event: BoardEvent): void {
  const folded = foldBoard(view, event);
  cache.setQueryData(boardQuery.queryKey, folded);
  if (event.type !== 'stage-updated' && event.type !== 'session-updated') return;
  const { stageId } = event.data;
  if (whatForbids(view, stageId) !== whatForbids(folded, stageId)) refreshDenialRetries(cache, stageId);
}

/** What keeps the denied calls of a stage from being allowed, and changes while they are on screen. */
function whatForbids({ stages }: BoardView, stageId: StageId): string {
  const stage = stages.find(({ id }) => id === stageId);
  return JSON.stringify([stage?.completedAt, stage?.session?.alarm, stage?.session?.terminal]);
}

/** Applies the board's notices about the machine. They have no number, so the last to arrive wins. */
export function applyNotices(cache: QueryClient, notices: BoardNotices): void {
  const { queryKey } = boardQuery;
  // A response on its way may be older.
  if (cache.getQueryState(queryKey)?.fetchStatus === 'fetching') void cache.invalidateQueries({ queryKey });
  else cache.setQueryData(queryKey, (view) => view && { ...view, ...notices });
}

/** Whether a session has just started: Claude Code then reported its capabilities again. */
function hasStarted(before: BoardView, event: BoardEvent): boolean {
  if (event.type !== 'session-updated' || event.data.state === 'starting') return false;
  return before.stages.some(({ id, session }) => id === event.data.stageId && session?.state === 'starting');
}

/** Reloads everything on screen, after events were lost. The next event is the one after `since`, if that is known. */
export function resync(cache: QueryClient, since?: number): void {
  const recent = recentEventsOf(cache);
  recent.clear();
  if (since !== undefined) recent.startAfter(since);
  // A loaded transcript is otherwise only appended to, but a power cut may have removed its last entries.
  void cache.resetQueries({ queryKey: ['transcript'] });
  void cache.invalidateQueries();
}

interface Queue {
  queue: QueuedMessage[];
  held: boolean;
}

function applyToStage(cache: QueryClient, event: BoardEvent): void {
  switch (event.type) {
    case 'queue-updated': {
      const { stageId, queue, held } = event.data;
      setQueue(cache, stageId, () => ({ queue, held }));
      break;
    }
    case 'message-queued':
      setQueue(cache, event.data.stageId, (old) => withMessage(old, event.data));
      break;
    case 'message-sent': {
      const { stageId, messageId } = event.data;
      setQueue(cache, stageId, (old) => ({ ...old, queue: old.queue.filter((m) => m.messageId !== messageId) }));
      break;
    }
    case 'approval-resolved':
    case 'decision-updated': {
      const decision = event.data;
      const { queryKey } = transcriptQuery(decision.stageId);
      cache.setQueryData(queryKey, (old) => old && withDecisions(old, [decision]));
      refreshDecisionLog(cache);
      if (decision.denial !== null) refreshDenialRetries(cache, decision.stageId);
      break;
    }
    case 'call-denied': // its transcript entry arrives like any other
      refreshDecisionLog(cache);
      break;
    case 'worktree-command-updated':
      applyCommand(cache, event.data);
      break;
    case 'draft-updated':
      applyDraft(cache, event.data);
      break;
    case 'comments-updated':
      void cache.invalidateQueries({ queryKey: commentsQuery(event.data.stageId).queryKey });
      break;
    case 'side-run-updated':
      applySideRun(cache, event.data);
      break;
    case 'viewed-updated':
      void cache.invalidateQueries({ queryKey: viewedQuery(event.data.stageId).queryKey });
      break;
    case 'rules-updated':
      refreshRules(cache);
      break;
    case 'login-created':
      addNewLogin(cache, event.data);
      break;
    case 'login-ended':
      removeLogin(cache, event.data.loginId);
      break;
    case 'stage-removed':
      cache.removeQueries({ queryKey: queueQuery(event.data.stageId).queryKey });
      cache.removeQueries({ queryKey: transcriptQuery(event.data.stageId).queryKey });
      break;
    default: // handled by the board's fold
  }
}

/** Runs before the request leaves the board, so that a form still on screen can say why. */
function saveEnding(cache: QueryClient, event: BoardEvent): void {
  if (event.type !== 'approval-resolved' && event.type !== 'approval-cancelled') return;
  const ending: Ending =
    event.type === 'approval-resolved'
      ? { kind: 'decided', decision: event.data }
      : { kind: 'withdrawn', reason: event.data.reason };
  cache.setQueryData(endingKey(event.data), ending);
}

function setQueue(cache: QueryClient, stageId: StageId, change: (old: Queue) => Queue): void {
  const { queryKey } = queueQuery(stageId);
  // A response on its way may be older than the event.
  if (cache.getQueryState(queryKey)?.fetchStatus === 'fetching') void cache.invalidateQueries({ queryKey });
  else cache.setQueryData(queryKey, (old) => old && change(old));
}

function withMessage(old: Queue, message: QueuedMessage): Queue {
  const others = old.queue.filter((m) => m.messageId !== message.messageId);
  return { ...old, queue: [...others, message].sort((a, b) => a.position - b.position) };
}

/** Fetches what was appended to open transcripts; many notifications become one request. */
export function createTranscriptFeed(cache: QueryClient, store: StreamStore) {
  const wanted = new Map<StageId, number>();
  const pulling = new Set<StageId>();

  async function pull(stageId: StageId): Promise<void> {
    const query = transcriptQuery(stageId);
    const { queryKey } = query;
    if (cache.getQueryState(queryKey) === undefined) return; // not open
    for (;;) {
      const last = lastIndex(await cache.ensureQueryData(query));
      if (last >= (wanted.get(stageId) ?? 0)) return;
      const more = await loadAfter(stageId, last);
      cache.setQueryData(
        queryKey,
        (old) => old && withDecisions(joinTranscripts(old, more), recentEventsOf(cache).decisions(stageId)),
      );
      const stored = new Set(more.entries.flatMap((entry) => ('blockId' in entry ? [entry.blockId] : [])));
      store.setState((state) => ({ text: dropBlocks(state.text, stageId, stored) }));
      if (more.entries.length === 0) return;
    }
  }

  return {
    appended(stageId: StageId, index: number): void {
      wanted.set(stageId, Math.max(index, wanted.get(stageId) ?? 0));
      if (pulling.has(stageId)) return;
      pulling.add(stageId);
      pull(stageId)
        // The server did not answer: reload after the next connection.
        .catch(() => cache.invalidateQueries({ queryKey: transcriptQuery(stageId).queryKey }))
        .finally(() => pulling.delete(stageId));
    },
  };
}
