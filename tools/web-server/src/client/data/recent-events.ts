import {
  type BoardEvent,
  type BoardView,
  type Decision,
  type Delivery,
  foldBoard,
  type StageId,
  type TranscriptEntry,
} from '@callboard/contract';
import type { QueryClient } from '@tanstack/react-query';
import { client } from '../lib/api-client.ts';

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

/** A stage's transcript, from some entry to its end. */
export interface Transcript {
  /** In ascending order, without gaps. */
  entries: TranscriptEntry[];
  /** The index of the server's last entry. */
  total: number;
}

const PAGE = 200;
/** The server's maximum page, used to load everything. */
const LARGE_PAGE = 1000;

const loadNewest = (stageId: StageId, signal: AbortSignal): Promise<Transcript> =>
  client.command('get_transcript', { stageId, limit: PAGE }, { signal });

/** Loads the newest page, or completes what is known to its end. A transcript only grows. */
export async function loadTranscript(
  stageId: StageId,
  known: Transcript | undefined,
  signal: AbortSignal,
): Promise<Transcript> {
  if (known === undefined || known.entries.length === 0) return loadNewest(stageId, signal);
  const more = await loadAfter(stageId, lastIndex(known));
  const joined = joinTranscripts(known, more);
  return lastIndex(joined) < more.total ? loadNewest(stageId, signal) : joined;
}

/** Loads the page after this entry. */
export const loadAfter = (stageId: StageId, index: number): Promise<Transcript> =>
  client.command('get_transcript', { stageId, after: index, limit: PAGE });

/** Loads the page before this entry. */
export const loadBefore = (stageId: StageId, index: number): Promise<Transcript> =>
  client.command('get_transcript', { stageId, before: index, limit: PAGE });

/** Loads all entries before this one, page by page. */
export async function loadAllBefore(stageId: StageId, index: number): Promise<Transcript> {
  const pages: TranscriptEntry[][] = [];
  let total = 0;
  for (let before = index; before > 1; ) {
    const page = await client.command('get_transcript', { stageId, before, limit: LARGE_PAGE });
    total = page.total;
    if (page.entries.length === 0) break;
    pages.unshift(page.entries);
    before = page.entries[0]?.index ?? 1;
  }
  return { entries: pages.flat(), total };
}

/** Loads the whole transcript. */
export async function loadAll(stageId: StageId, signal: AbortSignal): Promise<TranscriptEntry[]> {
  const { entries } = await client.command('get_transcript', { stageId, limit: LARGE_PAGE }, { signal });
  const earlier = await loadAllBefore(stageId, entries[0]?.index ?? 1);
  return [...earlier.entries, ...entries];
}

/** The index of the last loaded entry; 0 if there is none. */
export const lastIndex = (transcript: Transcript): number => transcript.entries.at(-1)?.index ?? 0;

/** Whether entries before the loaded ones exist. */
export const hasEarlier = (transcript: Transcript): boolean => (transcript.entries[0]?.index ?? 1) > 1;

/** Joins two parts, each entry once. */
export function joinTranscripts(a: Transcript, b: Transcript): Transcript {
  const total = Math.max(a.total, b.total);
  // The usual case: one follows the other.
  if (b.entries[0] !== undefined && lastIndex(a) + 1 === b.entries[0].index)
    return { entries: a.entries.concat(b.entries), total };
  const byIndex = new Map([...a.entries, ...b.entries].map((entry) => [entry.index, entry]));
  const entries = [...byIndex.values()].sort((x, y) => x.index - y.index);
  return { entries, total };
}

/** How far a delivery got; it never goes back. */
const STEP: Record<Delivery, number> = { accepted: 0, written: 1, unknown: 2, confirmed: 4, 'not-applied': 4, none: 4 };

/** A decision whose delivery is unknown advances one step when a person settles it. */
const stepOf = ({ delivery, settlement }: Decision): number => STEP[delivery] + (settlement === null ? 0 : 1);

/** Replaces older states of decisions in the transcript with newer ones. */
export function withDecisions(transcript: Transcript, decisions: readonly Decision[]): Transcript {
  let entries = transcript.entries;
  for (const decision of decisions) {
    const place = entries.findIndex((entry) => isOlder(entry, decision));
    const entry = entries[place];
    if (entry?.kind === 'decision') entries = entries.with(place, { ...entry, decision });
  }
  return entries === transcript.entries ? transcript : { ...transcript, entries };
}

const isOlder = (entry: TranscriptEntry, decision: Decision): boolean =>
  entry.kind === 'decision' &&
  entry.decision.requestId === decision.requestId &&
  stepOf(entry.decision) < stepOf(decision);
