import { type NewTranscriptEntry, TranscriptEntry } from '@callboard/contract';
import { truncateRaw } from '../lib/truncate.ts';
import type { SessionRecord } from '../store/records.ts';

/**
 * A session while a transaction changes it. All changes of a session go through a `SessionChange`, so the rules about
 * its state, its queue and its events are in one place: `change-session.ts`.
 */
export interface SessionChange {
  readonly before: SessionRecord;
  record: SessionRecord;
  /** Entries to append, with their indices. */
  entries: TranscriptEntry[];
  /** Whether rows of the queue were added, removed or changed. */
  queueChanged: boolean;
  /** Ids of the message rows that were given to the launch. */
  delivered: string[];
}

/** Appends an entry to the transcript. */
export function addEntry(change: SessionChange, at: string, entry: NewTranscriptEntry): void {
  const index = change.record.transcriptLength + 1;
  change.record = { ...change.record, transcriptLength: index };
  change.entries.push(TranscriptEntry.parse({ ...entry, stageId: change.record.stageId, index, at }));
}

export type Notice = Pick<Extract<NewTranscriptEntry, { kind: 'notice' }>, 'level' | 'code' | 'text'>;

/** Appends a notice of Callboard to the transcript. */
export const addNotice = (change: SessionChange, at: string, notice: Notice): void =>
  addEntry(change, at, { kind: 'notice', parentToolUseId: null, ...notice });

/** Appends a line that Callboard does not understand: as received, but shortened. */
export const addRaw = (change: SessionChange, at: string, raw: unknown): void =>
  addEntry(change, at, { kind: 'unknown', parentToolUseId: null, raw: truncateRaw(raw) });
