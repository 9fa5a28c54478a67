import { PushDevice, PushSubscriptionBody } from '@callboard/contract';
import * as the from './example-values.ts';

const onStage = { stageId: the.stage.id };
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

/** Example calls of the commands about who looks at a stage, and about pushed notifications. */
export const signalExamples = {
  tell_looking: { input: { tabId: 'aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa', at: the.stage.id }, reply: {} },
  get_looking: { input: onStage, reply: { isLooking: true } },
  get_push_devices: { input: {}, reply: { publicKey, devices: [device], current: device.deviceId } },
  add_push_device: { input: subscription, reply: { device } },
  remove_push_device: { input: onDevice, reply: { device } },
  test_push_device: { input: onDevice, reply: { device } },
};
