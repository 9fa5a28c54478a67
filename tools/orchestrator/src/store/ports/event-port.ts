import {
  Announcement,
  type BoardEvent,
  type PageKey,
  PushDevice,
  PushSubscriptionBody,
  type StageId,
  Webhook,
  WebhookTarget,
} from '@callboard/contract';
import { z } from 'zod';

/** What people are told about, once each. */
export interface AnnouncementsTable {
  find(key: string): Promise<AnnouncementRecord | null>;
  /** Those that stand, oldest first: of one stage, or of all. */
  listOpen(stageId?: StageId): Promise<AnnouncementRecord[]>;
  /** Returns false, and changes nothing, if there is one with that key. */
  insert(announcement: AnnouncementRecord): Promise<boolean>;
  settle(key: string, at: string): Promise<void>;
  /** Deletes what was settled before an instant, with its deliveries. */
  forgetSettledBefore(instant: string): Promise<void>;
}

/** The messages that tell of announcements. */
export interface DeliveriesTable {
  /** Does nothing if that target has one of that phase. */
  insert(delivery: Pick<DeliveryRecord, 'announcementKey' | 'channel' | 'target' | 'phase' | 'dueAt'>): Promise<void>;
  listOf(announcementKey: string): Promise<DeliveryRecord[]>;
  /** The queued one of each target that is due first, by when they are due. */
  listNext(): Promise<DeliveryRecord[]>;
  /** The newest of one target, newest first. */
  listTo(channel: string, target: string, limit: number): Promise<DeliveryRecord[]>;
  find(id: number): Promise<DeliveryRecord | null>;
  update(
    id: number,
    fields: Partial<Omit<DeliveryRecord, 'id' | 'announcementKey' | 'channel' | 'target'>>,
  ): Promise<void>;
}

/** Calls to the outside, with their secrets. */
export interface WebhooksTable {
  /** Oldest first. */
  list(): Promise<WebhookRecord[]>;
  find(webhookId: string): Promise<WebhookRecord | null>;
  /** Inserts or replaces it. */
  save(webhook: WebhookRecord): Promise<void>;
  remove(webhookId: string): Promise<void>;
}

/** Browsers that notifications are pushed to, and the key pair that signs for it. */
export interface PushTable {
  /** Null before the first `saveKeys`. */
  keys(): Promise<PushKeys | null>;
  saveKeys(keys: PushKeys): Promise<void>;
  /** Oldest first. */
  listDevices(): Promise<PushDeviceRecord[]>;
  findDevice(deviceId: string): Promise<PushDeviceRecord | null>;
  /** Inserts or replaces it: there is one for each address of a push service. */
  saveDevice(device: PushDeviceRecord): Promise<void>;
  removeDevice(deviceId: string): Promise<void>;
}

/** Stored types about what people are told. */

/** An announcement with its fate. */
export const AnnouncementRecord = Announcement.extend({
  /** When Callboard noticed it. */
  madeAt: z.iso.datetime(),
  /** When nobody was needed for it any more; null while it stands. */
  settledAt: z.iso.datetime().nullable(),
});
export type AnnouncementRecord = z.infer<typeof AnnouncementRecord>;

/** What a delivery tells: the announcement, or that it is settled. */
export const DeliveryPhase = z.enum(['announced', 'settled']);
export type DeliveryPhase = z.infer<typeof DeliveryPhase>;

/** One message to one target: to be sent at `dueAt`, tried again after a failure, and never sent twice once its fate is stored. */
export interface DeliveryRecord {
  id: number;
  announcementKey: string;
  /** The name of the channel: `push` or `webhook`. */
  channel: string;
  /** Whom it reaches; the channel knows what it means. */
  target: string;
  phase: DeliveryPhase;
  state: 'queued' | 'sent' | 'dropped';
  /** How often sending it has begun, counted before it begins: above 0, it may have arrived. */
  attempts: number;
  dueAt: string;
  /** When the newest attempt began. */
  triedAt: string | null;
  /** Why the newest attempt failed, or why it was dropped. */
  error: string | null;
  /** What the receiver calls the message, if a later one needs that. */
  receipt: string | null;
}

/** A browser that notifications are pushed to. */
export const PushDeviceRecord = PushDevice.extend({
  person: z.string(),
  /** The origin of the page that subscribed: push services want to know whom to turn to. */
  origin: z.string(),
  subscription: PushSubscriptionBody,
});
export type PushDeviceRecord = z.infer<typeof PushDeviceRecord>;

/** A call to the outside, with its secrets. */
export const WebhookRecord = Webhook.omit({ form: true, where: true }).extend({ target: WebhookTarget });
export type WebhookRecord = z.infer<typeof WebhookRecord>;

/** The key pair by which push services know this Callboard (VAPID, P-256, base64url). */
export interface PushKeys {
  publicKey: string;
  privateKey: string;
}

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

export interface LoginRecord {
  secretHash: string;
  kind: 'code' | 'session' | 'token' | 'metrics';
  name: string;
  createdAt: string;
  expiresAt: string | null;
  /** Of a `session`: the browser that logged in; null for the others. */
  page: LoginPage | null;
  /** Of a `token`: the terminal that logged in. Of a token for `metrics`: its name. Null for the others. */
  terminal: LoginTerminal | null;
}

export interface LoginTerminal {
  loginId: string;
  /** In words. */
  name: string;
}

export interface LoginPage {
  loginId: string;
  key: PageKey;
  /** The only origin under which the login is valid. */
  origin: string;
  /** In words. */
  browser: string;
}
