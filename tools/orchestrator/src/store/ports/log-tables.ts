import type { BoardEvent } from '@callboard/contract';
import type { LoginRecord } from '../login-records.ts';

/** The limits of the event log. */
export interface RetainedEvents {
  /** How many events. */
  save: number;
  /** How many bytes of data. */
  retainBytes: number;
  /** Events from before this instant are deleted. */
  olderThan: string;
}

/** The log of changes. Numbers rise by one in the order of commits and are never used twice. */
export interface EventsTable {
  /** The highest number used or skipped so far; 0 before the first. */
  lastSeq(): Promise<number>;
  /** Deletes all but the newest events that fit each of the limits. The newest one always stays. */
  prune(saved: RetainedEvents): Promise<void>;
  /** The events after `seq`, ascending: at most `limit`, and no more than a page holds. */
  since(seq: number, limit: number): Promise<BoardEvent[]>;
}

/**
 * A safe lower bound of the time. Someone may set the time of day a year forward and back again. This clock is never
 * ahead of the time of day when it advances, never goes back, and advances only by the time that passed while Callboard
 * ran. Everything that expires after days expires by this clock (docs/decisions/storage.md).
 */
export interface ClockTable {
  /** Returns the clock's instant; null before the first `advance`, when nothing counts as old. */
  livedUntil(): Promise<string | null>;
  /**
   * Advances by time measured on a monotonic clock. The first call starts at the newest event, if there is one.
   * @param now the time of day
   * @returns the clock's new instant
   */
  advance(now: string, elapsedMs: number): Promise<string>;
  /** Returns the instant to record for something new that expires later: never in the past, whatever the time of day says. */
  stamp(now: string): Promise<string>;
}

/** Who may use Callboard, by the hash of their secret. */
export interface LoginsTable {
  find(secretHash: string): Promise<LoginRecord | null>;
  /** Finds the login of a browser or a terminal. */
  findById(loginId: string): Promise<LoginRecord | null>;
  /** The browsers and terminals that are logged in, newest first. */
  list(): Promise<LoginRecord[]>;
  /** Inserts it, unless a login with that hash exists. */
  save(login: LoginRecord): Promise<void>;
  /** Returns true for exactly one caller. */
  remove(secretHash: string): Promise<boolean>;
  removeExpired(instant: string): Promise<void>;
}
