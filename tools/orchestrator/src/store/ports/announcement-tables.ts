import type { StageId } from '@callboard/contract';
import type {
  AnnouncementRecord,
  DeliveryRecord,
  PushDeviceRecord,
  PushKeys,
  WebhookRecord,
} from '../announcement-records.ts';

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
