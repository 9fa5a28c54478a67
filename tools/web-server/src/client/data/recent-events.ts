import { type BoardEvent, type BoardView, type Decision, foldBoard } from '@callboard/contract';
import type { QueryClient } from '@tanstack/react-query';

const SAVED = 500;
const KEY = ['recent-events'];

/** The last events that arrived, to complete answers that were on their way meanwhile. */
export interface RecentEvents {
  add(event: BoardEvent): void;
  /** The number after which the next event is due, for everything but the board; null until one has arrived or was set. */
  position(): number | null;
  /** Everything on screen is loaded from now on, or was, and holds the events up to this number. */
  startAfter(seq: number): void;
  /** The newest states of a stage's decisions. An update may arrive before the transcript entry it belongs to. */
  decisions(stageId: string): Decision[];
  /** Forgets all events. Call it after events were lost: older ones say nothing about the view loaded next. */
  clear(): void;
  /** Returns the view with the events applied that arrived while it was loading. */
  catchUp(view: BoardView): BoardView;
}

/** The recent events of a query cache. They live in the cache itself, beside the data they complete. */
export function recentEventsOf(cache: QueryClient): RecentEvents {
  const known = cache.getQueryData<RecentEvents>(KEY);
  if (known !== undefined) return known;
  cache.setQueryDefaults(KEY, { gcTime: Number.POSITIVE_INFINITY, structuralSharing: false });
  const recent = createRecentEvents();
  cache.setQueryData(KEY, recent);
  return recent;
}

/** An empty list of recent events. */
export function createRecentEvents(): RecentEvents {
  let events: BoardEvent[] = [];
  let position: number | null = null;
  return {
    position: () => position,
    startAfter(seq) {
      position = seq;
    },
    add(event) {
      position = Math.max(event.seq, position ?? 0);
      events = [...events.slice(-SAVED + 1), event];
    },
    decisions: (stageId) =>
      events.flatMap((event) =>
        event.type === 'decision-updated' && event.data.stageId === stageId ? [event.data] : [],
      ),
    clear() {
      events = [];
    },
    catchUp(view) {
      const later = events.filter((event) => event.seq > view.seq).sort((a, b) => a.seq - b.seq);
      // An event may be listed twice if the stream moved to another tab; the fold applies it once.
      return later.reduce((folded, event) => (event.seq <= folded.seq + 1 ? foldBoard(folded, event) : folded), view);
    },
  };
}
