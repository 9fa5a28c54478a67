import type { LaunchId, MessageId, StageId, TranscriptEntry } from '@callboard/contract';
import type { ProcessIdentity } from '@callboard/runtime/process-identity';
import type {
  LaunchRecord,
  LaunchSettings,
  MessageRow,
  OutboxBody,
  OutboxRow,
  OutboxState,
  SessionRecord,
} from '../records.ts';

/** One session for each stage that has ever been started. A record is never changed in place. */
export interface SessionsTable {
  list(): Promise<SessionRecord[]>;
  find(stageId: StageId): Promise<SessionRecord | null>;
  /** Inserts or replaces it. */
  save(record: SessionRecord): Promise<void>;
}

/** Launches, oldest first. */
export interface LaunchesTable {
  listNotEnded(): Promise<LaunchRecord[]>;
  listOf(stageId: StageId): Promise<LaunchRecord[]>;
  find(id: LaunchId): Promise<LaunchRecord | null>;
  /** Its state is `starting`. */
  insert(launch: Pick<LaunchRecord, 'id' | 'stageId' | 'folder' | 'createdAt'>): Promise<void>;
  /** @param settings if omitted, the stored ones stay */
  setLive(id: LaunchId, process: ProcessIdentity, settings?: LaunchSettings): Promise<void>;
  setOffset(id: LaunchId, offset: number): Promise<void>;
  setLeftovers(id: LaunchId, leftovers: readonly ProcessIdentity[]): Promise<void>;
  setEnded(id: LaunchId, at: string, reason: string): Promise<void>;
}

export type NewOutboxRow = Pick<
  OutboxRow,
  'id' | 'stageId' | 'launchId' | 'wireId' | 'body' | 'actor' | 'createdAt'
> & {
  position?: number;
  /** `written`: a control request that its writer writes right after the commit. */
  state?: 'accepted' | 'written';
};

/**
 * Everything written to launches, and the messages that wait for one. After the commit, the writer of each launch gets
 * the rows that the transaction gave to it: see `Store.onGiven`.
 */
export interface OutboxTable {
  insert(row: NewOutboxRow): Promise<OutboxRow>;
  find(id: string): Promise<OutboxRow | null>;
  /** The launch's newest row with that wire id. */
  findByWireId(launchId: LaunchId, wireId: string): Promise<OutboxRow | null>;
  /** The launch's control requests since that instant that were not dropped, newest first. */
  controlsSince(launchId: LaunchId, since: string): Promise<OutboxRow[]>;
  /** The launch's rows in one of these states, in the order in which they are written. */
  listOf(launchId: LaunchId, states: readonly OutboxState[]): Promise<OutboxRow[]>;
  /** How many messages the launch has received but not begun to work on. */
  countUnread(launchId: LaunchId): Promise<number>;
  /** The stage's queue, in order: messages that are accepted and belong to no launch yet. */
  queueOf(stageId: StageId): Promise<MessageRow[]>;
  countQueued(stageId: StageId): Promise<number>;
  /** The highest position of any message of the stage so far; 0 before the first. */
  lastPosition(stageId: StageId): Promise<number>;
  findQueued(stageId: StageId, messageId: MessageId): Promise<MessageRow | null>;
  /** The stage's message with that id, in any state. */
  findMessage(stageId: StageId, messageId: MessageId): Promise<MessageRow | null>;
  /** Gives a queued message to a launch. @param body its new content */
  give(row: MessageRow, launchId: LaunchId, body: MessageRow['body']): Promise<void>;
  /** Moves a row to the queue (null), or to a launch whose writer has not started: that writer lists its rows itself. */
  assign(id: string, launchId: LaunchId | null): Promise<void>;
  setBody(id: string, body: OutboxBody): Promise<void>;
  setPosition(id: string, position: number): Promise<void>;
  /** A line too long for one atomic write is being written. */
  setWriting(id: string): Promise<void>;
  /**
   * Does nothing for a row that is already confirmed or void (the echo may overtake the writer's bookkeeping), or that
   * went back to the queue or to another launch.
   */
  setWritten(row: Pick<OutboxRow, 'id' | 'launchId'>, at: string): Promise<void>;
  setConfirmed(id: string, at: string): Promise<void>;
  setVoid(id: string, reason: string): Promise<void>;
}

export interface TranscriptPage {
  after: number | undefined;
  before: number | undefined;
  limit: number;
}

/** Transcripts, in pages. */
export interface TranscriptTable {
  append(entries: readonly TranscriptEntry[]): Promise<void>;
  /** The message with this id that was given to Claude; null if there is none. */
  findMessage(stageId: StageId, messageId: MessageId): Promise<Extract<TranscriptEntry, { kind: 'user' }> | null>;
  /** The tool call with this id; null if there is none. Reads from the newest entry back, in slices. */
  findCall(stageId: StageId, toolUseId: string): Promise<Extract<TranscriptEntry, { kind: 'tool-use' }> | null>;
  /** Counts the messages to Claude from this entry on. */
  countMessages(stageId: StageId, from: number): Promise<number>;
  /**
   * Entries in ascending order: from `after` on if given, else the last ones before `before` (or of all).
   * Returns at most `limit`, and no more than a page holds.
   */
  page(stageId: StageId, page: TranscriptPage): Promise<TranscriptEntry[]>;
}
