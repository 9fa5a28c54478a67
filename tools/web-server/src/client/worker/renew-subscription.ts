import { type PushMessage, PushSubscriptionBody } from '@callboard/contract';
import { TransportError } from '@callboard/contract/client';
import { client, isTransient } from '../lib/api-client.ts';
import { untilDelivered } from '../lib/until-delivered.ts';

/** Shown instead of the notifications that this browser no longer gets. */
const ended = (body: string): PushMessage => ({
  tag: 'push-ended',
  title: 'Callboard: no more notifications here',
  path: '/notifications',
  signal: 'waiting',
  body,
  request: null,
  actions: 'none',
  isSettled: false,
});

const TURN_ON = 'Open Callboard to turn them on again.';

/**
 * Subscribes again after the browser has ended a subscription, and has Callboard send to the new one. If that fails, or notifications are off
 * for this login, this browser is left unsubscribed, so the page shows that they are off.
 * @param made the new subscription, if the browser has made one itself
 * @returns what to show; null if notifications go on. Never rejects.
 */
export async function renewSubscription(
  made: PushSubscription | null | undefined,
  pushManager: Pick<PushManager, 'subscribe'>,
): Promise<PushMessage | null> {
  let renewed = made;
  try {
    const { publicKey, current } = await untilDelivered((_, signal) =>
      client.command('get_push_devices', {}, { signal }),
    );
    // The old subscription may be of somebody who has logged out here: whoever is logged in now has not asked for notifications.
    if (current === null) {
      await renewed?.unsubscribe().catch(() => false);
      return ended('They are off for the login of this browser. Turn them on in Callboard if you want them.');
    }
    renewed ??= await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: publicKey });
    const body = PushSubscriptionBody.parse(renewed.toJSON());
    await untilDelivered((_, signal) => client.command('add_push_device', body, { signal }));
    return null;
  } catch (error) {
    await renewed?.unsubscribe().catch(() => false);
    return ended(reasonOf(error));
  }
}

/** Why this browser has no new subscription, in words. */
function reasonOf(error: unknown): string {
  if (!(error instanceof TransportError)) return `The browser has ended them. ${TURN_ON}`;
  if (isTransient(error) || error.code === 'network')
    return `The browser wanted to renew them, and Callboard did not answer. ${TURN_ON}`;
  return `The browser wanted to renew them, and Callboard refused: ${error.message} ${TURN_ON}`;
}
