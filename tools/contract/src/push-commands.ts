import { z } from 'zod';
import type { CommandDefinitions, DocsOf } from './command.ts';
import * as the from './examples.ts';
import { PushDevice, PushSubscriptionBody } from './push.ts';

const device = z.object({ device: PushDevice });

const ofDevice = z.object({ deviceId: z.string().min(1).max(100) });

/** The commands about pushed notifications. Each is about the devices of the person who sends it. */
export const pushCommands = {
  /** `publicKey`: what a browser subscribes with (VAPID). `current`: the device of the login that asks, if it has one. */
  get_push_devices: {
    route: 'GET /api/push/subscriptions',
    runs: 'store',
    time: 'read',
    input: z.object({}),
    reply: z.object({ publicKey: z.string(), devices: z.array(PushDevice), current: z.string().nullable() }),
  },
  /** Pushes notifications to this browser from now on. Only a page may subscribe, no API token (`page_only`). */
  add_push_device: { route: 'POST /api/push/subscriptions', runs: 'store', input: PushSubscriptionBody, reply: device },
  remove_push_device: {
    route: 'DELETE /api/push/subscriptions/:deviceId',
    runs: 'store',
    input: ofDevice,
    reply: device,
  },
  /** Sends a test. Replies when the push service has taken it; `push_failed` says why it has not. */
  test_push_device: {
    route: 'POST /api/push/subscriptions/:deviceId/test',
    runs: 'store',
    time: 'slow',
    input: ofDevice,
    reply: device,
  },
} as const satisfies CommandDefinitions;

/** What the API's document says of them. */
export const pushDocs = (): DocsOf<typeof pushCommands> => {
  const publicKey = 'BNcRdreALRFXTkOOUHK1EtK2wtaz5Ry4YfYCA_0QTpQtUbVlUls0VJXg7A8u-Ts1XbjhazAkj7I99e8QcYP7DkM';
  const subscription = PushSubscriptionBody.parse({
    endpoint: 'https://push.example.com/send/3kq8',
    keys: { p256dh: publicKey, auth: 'tBHItJI5svbpez7KI4CCXg' },
  });
  const device = PushDevice.parse({
    deviceId: '0198f2d4-7c1e-7000-8000-00000000000b',
    loginId: the.login.loginId,
    browser: 'Chrome on Android',
    createdAt: the.decision.at,
    sentAt: the.decision.at,
    problem: null,
  });
  const onDevice = { deviceId: device.deviceId };

  return {
    get_push_devices: {
      tag: 'requests',
      summary: 'List the devices that notifications are pushed to',
      description:
        'Yours only. `publicKey` is what a browser subscribes with (VAPID); `current` is the device of this login.',
      example: { input: {}, reply: { publicKey, devices: [device], current: device.deviceId } },
    },
    add_push_device: {
      tag: 'requests',
      summary: 'Push notifications to this browser',
      description:
        'The body is its `PushSubscription`. It replaces an earlier one of this login, and ends with the login. An API token cannot subscribe.',
      problems: ['page_only'],
      example: { input: subscription, reply: { device } },
    },
    remove_push_device: {
      tag: 'requests',
      summary: 'Push nothing more to a device',
      problems: ['unknown_device'],
      example: { input: onDevice, reply: { device } },
    },
    test_push_device: {
      tag: 'requests',
      summary: 'Push a test to a device',
      description: 'Replies when the push service has taken it.',
      problems: ['unknown_device', 'push_failed'],
      example: { input: onDevice, reply: { device } },
    },
  };
};
