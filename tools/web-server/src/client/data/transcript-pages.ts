import type { Decision, Delivery, StageId, TranscriptEntry } from '@callboard/contract';
import { client } from '../lib/api-client.ts';

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
