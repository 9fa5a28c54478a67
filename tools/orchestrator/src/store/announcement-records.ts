import { Announcement, PushDevice, PushSubscriptionBody, Webhook, WebhookTarget } from '@callboard/contract';
import { z } from 'zod';

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
