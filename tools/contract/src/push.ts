import { z } from 'zod';
import { Signal } from './alerts.ts';
import { RequestId, StageId } from './ids.ts';

/** The service worker of Callboard's pages. By the query, a worker that another program left behind at this port is never taken for it. */
export const WORKER_PATH = '/sw.js?callboard';

/** Where a push service takes messages for one browser, as its `PushSubscription.toJSON()` says. */
export const PushSubscriptionBody = z.strictObject({
  endpoint: z.url({ protocol: /^https$/, error: 'is not an https address' }).max(2_000),
  expirationTime: z.number().nullish(),
  keys: z.strictObject({
    p256dh: z.string().regex(/^[A-Za-z0-9_-]{87}=?$/, 'is not a public key'),
    auth: z.string().regex(/^[A-Za-z0-9_-]{22}(==)?$/, 'is not a secret of 16 bytes'),
  }),
});
export type PushSubscriptionBody = z.infer<typeof PushSubscriptionBody>;

/** A browser that notifications are pushed to. */
export const PushDevice = z.object({
  deviceId: z.string(),
  /** The login that subscribed it: when that ends, so does this. */
  loginId: z.string(),
  /** `Chrome on Android`. */
  browser: z.string(),
  createdAt: z.iso.datetime(),
  /** When a push service last took a message for it. */
  sentAt: z.iso.datetime().nullable(),
  /** Why the newest message could not be handed over, in words; null if it was. */
  problem: z.object({ at: z.iso.datetime(), text: z.string() }).nullable(),
});
export type PushDevice = z.infer<typeof PushDevice>;

/** What a notification lets a person do without opening Callboard. */
export const PushActions = z.enum(['none', 'deny', 'allow-or-deny']);
export type PushActions = z.infer<typeof PushActions>;

/** A pushed message, encrypted for its browser. It holds what the notification shows and nothing else. */
export const PushMessage = z.object({
  /** A later message with the same tag replaces the notification. */
  tag: z.string(),
  title: z.string(),
  body: z.string(),
  signal: Signal,
  /** The page that shows what it is about. */
  path: z.string(),
  /** Null if it is not about one request. */
  request: z.object({ stageId: StageId, requestId: RequestId }).nullable(),
  actions: PushActions,
  /** It needs nobody any more: this replaces what was said before, silently. */
  isSettled: z.boolean(),
});
export type PushMessage = z.infer<typeof PushMessage>;
