import type { AnnouncementRecord, DeliveryPhase } from '../store/announcement-records.ts';
import type { Tx } from '../store/store.ts';

/** One message to one target of a channel. */
export interface Message {
  announcement: AnnouncementRecord;
  phase: DeliveryPhase;
  target: string;
  /** If it is `settled`: what came back when the target was told before; null if nothing did. */
  receipt: string | null;
}

/**
 * What became of an attempt. `postponed`: it is not the time yet; that is no failure. `dropped`: nothing was sent, nor will be. `failed`: it is
 * tried again, after `afterMs` at the earliest, unless it `isFinal`. `receipt`: kept for the message that it is settled.
 */
export type Outcome =
  | { kind: 'sent'; receipt?: string }
  | { kind: 'postponed'; until: Date }
  | { kind: 'failed'; error: string; afterMs?: number; isFinal?: boolean }
  | { kind: 'dropped'; error: string };

/**
 * A way to tell people of announcements outside of the page. Every announcement becomes one row for each target, stored before anything is
 * sent. Rows survive restarts; a row whose sending was interrupted is sent again, so a receiver must tolerate a repetition.
 */
export interface Channel {
  /** Stored with each row: never change it. */
  readonly name: string;
  /** Whether a target that was told hears of it as well when nobody is needed any more. */
  tellsSettled(tx: Tx, target: string): Promise<boolean>;
  /** Who is to be told, and when: each target once. Runs in the transaction that stores the announcement. */
  targets(tx: Tx, announcement: AnnouncementRecord): Promise<{ target: string; dueAt: string }[]>;
  /** Sends one message. Ends, with an outcome, soon after `signal` aborts. */
  send(message: Message, signal: AbortSignal): Promise<Outcome>;
}
