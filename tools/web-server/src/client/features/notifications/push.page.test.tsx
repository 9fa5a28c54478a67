import { NOBODY, type PushDevice, PushMessage, StageId } from '@callboard/contract';
import { screen, waitFor } from '@testing-library/react';
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { openPage } from '../../test/open-page.tsx';
import { problem } from '../../test/page-server.ts';
import { at, board, session, stage } from '../../test/samples.ts';
import { setAlerts } from './alerts.ts';

const device: PushDevice = {
  deviceId: 'device-1',
  loginId: 'login-1',
  browser: 'Chrome on Android',
  createdAt: at(0),
  sentAt: null,
  problem: null,
};

/** A browser's push: whether it is subscribed, and how often it unsubscribed. */
function createBrowserPush() {
  const keys = { p256dh: 'B'.repeat(87), auth: 'a'.repeat(22) };
  const state = { subscribed: false, refuses: false, permission: 'default' };
  const subscription = {
    toJSON: () => ({ endpoint: 'https://push.example.com/send/1', expirationTime: null, keys }),
    unsubscribe: async () => {
      state.subscribed = false;
      return true;
    },
  };
  const pushManager = {
    getSubscription: async () => (state.subscribed ? subscription : null),
    subscribe: vi.fn(async () => {
      if (state.refuses) throw new Error('The push service is away');
      state.subscribed = true;
      return subscription;
    }),
  };
  const shown: { title: string; tag?: string | undefined; data: unknown }[] = [];
  const registration = {
    active: {},
    installing: null,
    waiting: null,
    pushManager,
    getNotifications: async ({ tag }: { tag: string }) => shown.filter((one) => one.tag === tag),
    showNotification: async (title: string, { tag, data }: NotificationOptions) =>
      void shown.push({ title, tag, data }),
  };
  const container = Object.assign(new EventTarget(), {
    register: vi.fn(async () => registration),
    getRegistration: async () => registration,
  });
  const permission = {
    get permission() {
      return state.permission;
    },
    requestPermission: async () => {
      if (state.permission === 'default') state.permission = 'granted';
      return state.permission;
    },
  };
  vi.stubGlobal('Notification', permission);
  vi.stubGlobal('PushManager', class {});
  vi.stubGlobal('isSecureContext', true);
  Object.defineProperty(navigator, 'serviceWorker', { value: container, configurable: true });
  return { state, pushManager, container, shown };
}

let push: ReturnType<typeof createBrowserPush>;
beforeEach(() => {
  push = createBrowserPush();
});
afterEach(() => {
  vi.unstubAllGlobals();
  Reflect.deleteProperty(navigator, 'serviceWorker');
});

function open(known: { devices: PushDevice[]; current: string | null } = { devices: [], current: null }) {
  const page = openPage('/notifications', { ...board({ stages: [] }), me: { ...NOBODY, name: 'Ada' } });
  const on = { devices: [device], current: device.deviceId };
  page.server.answer({
    get_webhooks: () => ({ webhooks: [] }),
    get_push_devices: () => ({ publicKey: 'BPublic', ...known }),
    add_push_device: () => {
      known = on;
      return { device };
    },
    remove_push_device: () => {
      known = { devices: [], current: null };
      return { device };
    },
    update_me: (patch) => ({ me: { ...NOBODY, name: 'Ada', ...patch } }),
  });
  return page;
}

const pushSwitch = () => screen.findByRole<HTMLInputElement>('switch', { name: /^Push to this device/ });
const alertText = () => screen.queryByRole('alert')?.textContent ?? '';
const isOn = () => screen.getByRole<HTMLInputElement>('switch', { name: /^Push to this device/ }).checked;

it('turns pushed notifications on and off, on both sides', async () => {
  const { user, server } = open();
  await waitFor(async () => expect((await pushSwitch()).disabled).toBe(false));
  await user.click(await pushSwitch());
  await expect.poll(isOn).toBe(true);
  expect(push.pushManager.subscribe).toHaveBeenCalledWith({ userVisibleOnly: true, applicationServerKey: 'BPublic' });
  const sent = server.received.find(({ command }) => command === 'add_push_device');
  expect(sent?.input).toMatchObject({ endpoint: 'https://push.example.com/send/1' });

  server.answer({ test_push_device: () => problem('push_failed', 'The test was not sent. It refused.') });
  await user.click(await screen.findByRole('button', { name: 'Send a test' }));
  await expect.poll(alertText).toContain('The test was not sent. It refused.');
  server.answer({ test_push_device: () => ({ device }) });
  await user.click(screen.getByRole('button', { name: 'Send a test' }));
  await screen.findByText('Sent. It appears in a moment.');

  await user.click(await pushSwitch());
  await expect.poll(isOn).toBe(false);
  expect(push.state.subscribed).toBe(false);
  const removed = server.received.find(({ command }) => command === 'remove_push_device');
  expect(removed).toEqual({ command: 'remove_push_device', input: { deviceId: 'device-1' } });
});

it('says why a browser was not subscribed, and stays off', async () => {
  push.state.refuses = true;
  const { user, server } = open();
  await waitFor(async () => expect((await pushSwitch()).disabled).toBe(false));
  await user.click(await pushSwitch());
  await expect.poll(alertText).toContain('It was not turned on. The browser’s push service did not take it: The push');
  push.state.refuses = false;
  server.answer({ add_push_device: () => problem('internal', 'The store is full.') });
  await user.click(await pushSwitch());
  await expect.poll(alertText).toContain('The store is full.');
  await expect.poll(() => push.state.subscribed).toBe(false);
  expect(isOn()).toBe(false);
});

it('is off if only the server knows this browser', async () => {
  open({ devices: [device], current: device.deviceId });
  await waitFor(async () => expect((await pushSwitch()).disabled).toBe(false));
  expect(isOn()).toBe(false);
});

it('tells what went wrong with the last notification', async () => {
  push.state.subscribed = true;
  const failed = { ...device, problem: { at: at(0), text: 'push.example.com did not answer in time.' } };
  open({ devices: [failed], current: device.deviceId });
  await expect
    .poll(alertText)
    .toMatch(/The last notification was not sent .*push\.example\.com did not answer in time\./);
  expect(isOn()).toBe(true);
});

it('says what to do where nothing can be pushed', async () => {
  push.state.permission = 'denied';
  open();
  await screen.findByText(/does not allow Callboard to notify you/);
  expect(screen.queryByRole('switch', { name: /^Push to this device/ })).toBeNull();
});

it('names HTTPS where the browser wants it', async () => {
  vi.stubGlobal('isSecureContext', false);
  const { user, server } = open();
  await screen.findByText(/only over HTTPS/);
  await user.click(screen.getByRole('switch', { name: /^Allow from a notification/ }));
  await expect.poll(() => server.received.at(-1)?.input).toMatchObject({ alerts: { allowFromNotification: true } });
});

it('follows where a clicked notification leads', async () => {
  open();
  await pushSwitch();
  push.container.dispatchEvent(new MessageEvent('message', { data: { open: '/trash' } }));
  await expect.poll(() => location.pathname).toBe('/trash');
});

it('shows an alert of an open page once, in the place of what is pushed', async () => {
  push.state.permission = 'granted';
  push.state.subscribed = true;
  setAlerts({ notify: true });
  onTestFinished(() => setAlerts({ notify: false }));
  const visibility = vi.spyOn(document, 'visibilityState', 'get').mockReturnValue('hidden');
  onTestFinished(() => visibility.mockRestore());
  const stages = [stage('STAGE-1'), stage('STAGE-2')].map((one) => ({ stage: one, session: session(one.id) }));
  const { server } = openPage('/', { ...board({ stages }), me: { ...NOBODY, name: 'Ada' } });
  await screen.findByText('Title of STAGE-1');
  const finish = (id: string, minute: number) =>
    server.emit(
      'session-updated',
      session(id, {
        stageId: StageId.parse(id),
        state: 'idle',
        lastTurn: { outcome: 'succeeded', at: at(minute), message: null, code: null },
      }),
    );
  push.shown.push({ title: 'Pushed', tag: `finished STAGE-1 ${at(1)}`, data: null });
  finish('STAGE-1', 1);
  finish('STAGE-2', 2);
  await expect
    .poll(() => push.shown.map(({ title }) => title))
    .toEqual(['Pushed', 'Title of STAGE-2: ready for review']);
  expect(PushMessage.parse(push.shown[1]?.data)).toMatchObject({ path: '/stages/STAGE-2', actions: 'none' });
});
