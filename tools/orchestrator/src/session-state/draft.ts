import { type NewTranscriptEntry, TranscriptEntry } from '@callboard/contract';
import { shortenedRaw } from '../domain/shortened.ts';
import type { SessionRecord } from '../store/records.ts';

/**
 * A session while one transaction changes it. Every change of a session goes through a draft, so that the rules about
 * its state, its queue and its events stand in one place: `change-session.ts`.
 */
export interface SessionDraft {
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
export function addEntry(draft: SessionDraft, at: string, entry: NewTranscriptEntry): void {
  const index = draft.record.transcriptLength + 1;
  draft.record = { ...draft.record, transcriptLength: index };
  draft.entries.push(TranscriptEntry.parse({ ...entry, stageId: draft.record.stageId, index, at }));
}

/** Adds what is not understood, as it came, as far as it is kept. */
export const addRaw = (draft: SessionDraft, at: string, raw: unknown): void =>
  addEntry(draft, at, { kind: 'unknown', parentToolUseId: null, raw: shortenedRaw(raw) });
