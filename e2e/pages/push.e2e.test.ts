import type { BrowserContext, CDPSession, Page, Worker } from 'playwright-core';
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { bash } from '../support/request-board.ts';
import { openOwnBoard } from '../support/test-board.ts';

const Registrations = z.object({
  registrations: z.array(z.object({ registrationId: z.string(), scopeURL: z.string(), isDeleted: z.boolean() })),
});

/** Resolves with the id of Callboard's worker once it runs. */
async function registered(session: CDPSession, context: BrowserContext): Promise<{ id: string; worker: Worker }> {
  let id = '';
  session.on('ServiceWorker.workerRegistrationUpdated', (event) => {
    id = Registrations.parse(event).registrations.find(({ isDeleted }) => !isDeleted)?.registrationId ?? id;
  });
  await session.send('ServiceWorker.enable');
  await expect.poll(() => [id !== '', context.serviceWorkers().length]).toEqual([true, 1]);
  const [worker] = context.serviceWorkers();
  if (worker === undefined) throw new Error('no service worker runs');
  return { id, worker };
}

interface Clickable {
  registration: { getNotifications(): Promise<Notification[]> };
  NotificationEvent: new (type: string, init: object) => Event;
}

/** The notifications that the browser shows. */
const shown = (worker: Worker) =>
  worker.evaluate(async () => {
    const { registration } = globalThis as unknown as Clickable;
    return (await registration.getNotifications()).map(({ title, body, silent }) => ({ title, body, silent }));
  });

/**
 * Clicks a button of the only notification, as far as a test can: the browser alone can make an event that it trusts.
 * Returns whether the worker closed it.
 */
const click = (worker: Worker, action: string) =>
  worker.evaluate(async (name) => {
    const { registration, NotificationEvent } = globalThis as unknown as Clickable;
    const [notification] = await registration.getNotifications();
    const event = new NotificationEvent('notificationclick', { notification, action: name });
    let done: Promise<unknown> = Promise.resolve();
    let isClosed = false;
    const close = () => {
      isClosed = true;
      notification?.close();
    };
    Object.defineProperty(event, 'waitUntil', { value: (work: Promise<unknown>) => (done = work) });
    Object.defineProperty(event, 'notification', { value: { data: notification?.data, close } });
    globalThis.dispatchEvent(event);
    await done;
    return isClosed;
  }, action);

/** Ends the subscription as a browser does that has made another one. Returns what the worker has sent to which end. */
const renew = (worker: Worker) =>
  worker.evaluate(async () => {
    const event = new Event('pushsubscriptionchange');
    const keys = { p256dh: 'B'.repeat(87), auth: 'a'.repeat(22) };
    const made = { endpoint: 'https://push.example.com/send/2', expirationTime: null, keys };
    let done: Promise<unknown> = Promise.resolve();
    Object.defineProperties(event, {
      newSubscription: { value: { toJSON: () => made, unsubscribe: async () => true } },
      waitUntil: { value: (work: Promise<unknown>) => (done = work) },
    });
    const send = globalThis.fetch;
    const sent: string[] = [];
    globalThis.fetch = async (...given) => {
      const response = await send(...given);
      sent.push(`${given[1]?.method ?? 'GET'} ${String(given[0])} ${response.status}`);
      return response;
    };
    globalThis.dispatchEvent(event);
    await done;
    globalThis.fetch = send;
    return sent;
  });

/** Turns notifications on for the login of a page: a browser under test has no push service to subscribe at. */
const turnOn = async (page: Page, proof: string) => {
  const status = await page.evaluate(async (token) => {
    const keys = { p256dh: 'B'.repeat(87), auth: 'a'.repeat(22) };
    const body = JSON.stringify({ endpoint: 'https://push.example.com/send/1', expirationTime: null, keys });
    const headers = { 'content-type': 'application/json', 'x-callboard-page': token };
    return (await fetch('/api/push/subscriptions', { method: 'POST', headers, body })).status;
  }, proof);
  expect(status).toBeLessThan(300);
};

it('shows what is pushed, denies from the notification, says that it was answered, and that Callboard is away; loads pages and logs in', async () => {
  const desk = await openOwnBoard(undefined, { hasNotifications: true, hasWorker: true }, true);
  const { page, context, origin, api, errors } = desk;
  await context.grantPermissions(['notifications'], { origin });
  const session = await context.newCDPSession(page);
  const { id, worker } = await registered(session, context);
  let proof = '';
  page.on('request', (request) => {
    proof = request.headers()['x-callboard-page'] ?? proof;
  });
  const push = (data: object) =>
    session.send('ServiceWorker.deliverPushMessage', { origin, registrationId: id, data: JSON.stringify(data) });

  const stageId = await api.stage('Checkout', [bash('touch never'), { text: 'Done.' }]);
  await api.start(stageId);
  await page.getByRole('dialog', { name: 'Checkout: Run this command?' }).waitFor();
  const pending = async () => (await api.get('/api/board')).pending;
  const [{ requestId }] = await pending();
  const message = {
    tag: `request ${stageId} ${requestId}`,
    title: 'Checkout: needs you',
    body: 'touch never',
    signal: 'waiting',
    path: '/trash',
    request: { stageId, requestId },
    actions: 'deny',
    isSettled: false,
  };
  await push(message);
  await expect.poll(() => shown(worker)).toEqual([{ title: message.title, body: 'touch never', silent: false }]);

  // A button that the notification does not have sends nothing, and leads to the page, in the window that is open.
  expect(await click(worker, 'allow')).toBe(true);
  await page.waitForURL(`${origin}/trash`);
  expect(await pending()).toHaveLength(1);
  await expect.poll(() => shown(worker)).toEqual([]);

  // Another tag: a browser that is late to close the one before would close this one.
  message.tag += ' again';
  await push(message);
  await expect.poll(() => shown(worker)).toHaveLength(1);
  expect(await click(worker, 'deny')).toBe(false);
  await expect.poll(() => shown(worker)).toEqual([{ title: 'Checkout: denied', body: 'touch never', silent: true }]);
  await expect.poll(pending).toEqual([]);

  // The same click on another device comes second.
  await push(message);
  await expect.poll(() => shown(worker)).toMatchObject([{ title: message.title }]);
  expect(await click(worker, 'deny')).toBe(false);
  const late = {
    title: expect.stringMatching(/^Checkout: already denied by .+ from Chrome on Linux$/),
    body: 'Your answer was not used.',
  };
  await expect.poll(() => shown(worker)).toEqual([{ ...late, silent: true }]);
  await push({ ...message, title: 'Checkout: answered', body: '', request: null, actions: 'none', isSettled: true });
  await expect.poll(() => shown(worker)).toEqual([{ title: 'Checkout: answered', body: '', silent: true }]);
  // Notifications are off for this login: a renewal does not turn them on.
  expect((await renew(worker)).at(-1)).toMatch(/^GET \/api\/push\S* 200$/);
  const ended = 'Callboard: no more notifications here';
  const titles = async () => (await shown(worker)).map(({ title }) => title).toSorted();
  expect(await titles()).toEqual([ended, 'Checkout: answered']);
  await turnOn(page, proof);
  expect((await renew(worker)).at(-1)).toMatch(/^POST \/api\/push\S* 20\d$/);
  expect(await titles()).toEqual([ended, 'Checkout: answered']); // nothing more to tell
  expect(errors).toEqual([]);

  await desk.command('down');
  await page.goto(origin);
  await page.getByRole('heading', { name: 'Callboard cannot be reached' }).waitFor();
  expect(await page.evaluate(async () => (await caches.keys()).length)).toBe(0);
  const again = await desk.start(Number(new URL(origin).port));
  onTestFinished(again.stop);
  const board = page.getByRole('region', { name: 'Review' });
  await board.waitFor({ state: 'attached' }); // by itself
  // A reload and another login go through the worker as well.
  const isWorkers = () => page.evaluate(() => navigator.serviceWorker.controller !== null);
  await page.reload();
  await board.waitFor({ state: 'attached' });
  expect(await isWorkers()).toBe(true);
  await context.clearCookies();
  await page.goto(again.loginLink);
  await board.waitFor({ state: 'attached' });
  expect([await isWorkers(), page.url()]).toEqual([true, `${origin}/`]);
});
