import { type NewTranscriptEntry, TranscriptEntry } from '@callboard/contract';
import type { SessionRecord } from '../store/records.ts';
import { truncateRaw } from '../text/truncate.ts';

/**
 * A session while one transaction changes it. Every change of a session goes through a change, so that the rules about
 * its state, its queue and its events stand in one place: `change-session.ts`.
 */
export interface SessionChange {
  readonly before: SessionRecord;
  record: SessionRecord;
  /** Entries to append; they have their places already. */
  entries: TranscriptEntry[];
  /** True when rows of the queue were added, taken or changed. */
  queueChanged: boolean;
  /** Rows of messages that were given to the launch. */
  delivered: string[];
}

/** Adds an entry behind the last one. */
export function addEntry(change: SessionChange, at: string, entry: NewTranscriptEntry): void {
  const index = change.record.transcriptLength + 1;
  change.record = { ...change.record, transcriptLength: index };
  change.entries.push(TranscriptEntry.parse({ ...entry, stageId: change.record.stageId, index, at }));
}

/** Adds what is not understood, as it came, as far as it is kept. */
export const addRaw = (change: SessionChange, at: string, raw: unknown): void =>
  addEntry(change, at, { kind: 'unknown', parentToolUseId: null, raw: truncateRaw(raw) });
