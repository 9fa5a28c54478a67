import { type PushMessage, PushSubscriptionBody } from '@callboard/contract';
import { client } from '../lib/api-client.ts';
import { untilDelivered } from '../lib/until-delivered.ts';

/** Shown instead of the notifications that this browser no longer gets. */
const ENDED: PushMessage = {
  ...{ tag: 'push-ended', title: 'Callboard: no more notifications here', path: '/notifications', signal: 'waiting' },
  ...{ body: 'The browser has ended them. Open Callboard to turn them on again.', request: null, actions: 'none' },
  isSettled: false,
};

/**
 * Subscribes again after the browser has ended a subscription, and has Callboard send to the new one. If that fails, this browser is
 * left unsubscribed, so the page shows that notifications are off.
 * @param made the new subscription, if the browser has made one itself
 * @returns what to show; null if notifications go on. Never rejects.
 */
export async function renewSubscription(
  made: PushSubscription | null | undefined,
  pushManager: Pick<PushManager, 'subscribe'>,
): Promise<PushMessage | null> {
  let renewed = made;
  try {
    renewed ??= await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: await publicKey() });
    const body = PushSubscriptionBody.parse(renewed.toJSON());
    await untilDelivered((_, signal) => client.command('add_push_device', body, { signal }));
    return null;
  } catch {
    await renewed?.unsubscribe().catch(() => false);
    return ENDED;
  }
}

async function publicKey(): Promise<string> {
  const known = await untilDelivered((_, signal) => client.command('get_push_devices', {}, { signal }));
  return known.publicKey;
}
