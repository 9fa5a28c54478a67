import type { Relays } from './relay.ts';

/** The browsers that notifications are pushed to. */
export const pushRelays = {
  get_push_devices: {
    summary: 'List the devices that notifications are pushed to',
    description:
      'Yours only. `publicKey` is what a browser subscribes with (VAPID); `current` is the device of this login.',
  },
  add_push_device: {
    summary: 'Push notifications to this browser',
    description:
      'The body is its `PushSubscription`. It replaces an earlier one of this login, and ends with the login. An API token cannot subscribe.',
    problems: ['page_only'],
  },
  remove_push_device: {
    summary: 'Push nothing more to a device',
    problems: ['unknown_device'],
  },
  test_push_device: {
    summary: 'Push a test to a device',
    description: 'Replies when the push service has taken it.',
    problems: ['unknown_device', 'push_failed'],
  },
} satisfies Relays;
