import type { BoardEvent, NewEvent } from '@callboard/contract';
import type { LoginRecord } from '../records.ts';

/** What the event log keeps. */
export interface KeptEvents {
  /** How many events. */
  keep: number;
  /** How many bytes of data. */
  keepBytes: number;
  /** Events from before this instant go. */
  olderThan: string;
}

/** The log of changes. Numbers rise by one in the order of commits and are never used twice. */
export interface EventsTable {
  /** The highest number that was given or skipped; 0 before the first. */
  lastSeq(): Promise<number>;
  append(event: NewEvent, at: string): Promise<BoardEvent>;
  /** Deletes all but the newest events that fit each of the limits. The newest one always stays. */
  prune(kept: KeptEvents): Promise<void>;
  /** The events after `seq`, ascending: at most `limit`, and no more than a page holds. */
  since(seq: number, limit: number): Promise<BoardEvent[]>;
}

/**
 * How far time has certainly come. Someone may set the time of day a year forward and back again. This clock is never
 * ahead of it, never goes back, and advances only by the time that passed while Callboard ran. Whatever expires after
 * days expires by this clock (decision 029).
 */
export interface ClockTable {
  /** Null before the first `advance`: nothing is old then. */
  livedUntil(): Promise<string | null>;
  /**
   * Advances by time measured on a monotonic clock. The first call starts at the newest event, if there is one.
   * @param now the time of day
   * @returns how far time has come
   */
  advance(now: string, elapsedMs: number): Promise<string>;
  /** The instant to record for something made now that expires later: never in the past, whatever the time of day says. */
  stamp(now: string): Promise<string>;
}

/** Who may use Callboard, by the hash of their secret. */
export interface LoginsTable {
  find(secretHash: string): Promise<LoginRecord | null>;
  findPage(loginId: string): Promise<LoginRecord | null>;
  /** The browsers that are logged in, newest first. */
  listPages(): Promise<LoginRecord[]>;
  /** Inserts it; one with that hash that is there already stays. */
  save(login: LoginRecord): Promise<void>;
  /** Returns true for exactly one caller. */
  remove(secretHash: string): Promise<boolean>;
  removeExpired(instant: string): Promise<void>;
}
