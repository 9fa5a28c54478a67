/**
 * Shows what is pushed while no page is open, answers from notifications, and says so when the server cannot be reached. It keeps
 * nothing, so no page is ever older than the server's, and a new version of it can take over at once.
 */
import '../lib/zod-setup.ts';
import { PushMessage } from '@callboard/contract';
import { setBasePath, withBase } from '../lib/base-path.ts';
import {
  answerRequest,
  pageOrOffline,
  readPushed,
  renewSubscription,
  shownNotification,
  verdictOf,
} from './worker-handlers.ts';

declare const self: ServiceWorkerGlobalScope;

setBasePath(new URL('.', self.location.href).pathname.slice(0, -1));

self.addEventListener('install', (event) => event.waitUntil(self.skipWaiting()));

self.addEventListener('activate', (event) => {
  const begin = async () => {
    // The page is on its way while this worker still starts.
    await self.registration.navigationPreload?.enable();
    await self.clients.claim();
  };
  event.waitUntil(begin());
});

self.addEventListener('fetch', (event) => {
  const { request, preloadResponse } = event;
  // Everything but pages is none of its business: it goes to the server as if there were no worker.
  if (request.mode !== 'navigate' || request.method !== 'GET') return;
  const load = async (): Promise<Response> => {
    const preloaded: unknown = await preloadResponse;
    return preloaded instanceof Response ? preloaded : fetch(request);
  };
  event.respondWith(pageOrOffline(load));
});

self.addEventListener('push', (event) => event.waitUntil(show(readPushed(event.data?.text()))));

self.addEventListener('pushsubscriptionchange', (event) => event.waitUntil(renew(event.newSubscription)));

self.addEventListener('notificationclick', (event) => {
  const { notification, action } = event;
  const message = PushMessage.safeParse(notification.data);
  if (message.success) return event.waitUntil(clicked(message.data, action, notification));
  notification.close();
  event.waitUntil(open('/'));
});

function show(message: PushMessage): Promise<void> {
  const { title, options } = shownNotification(message);
  return self.registration.showNotification(title, options);
}

async function renew(made: PushSubscription | null): Promise<void> {
  const ended = await renewSubscription(made, self.registration.pushManager);
  if (ended !== null) await show(ended);
}

async function clicked(message: PushMessage, action: string, notification: Notification): Promise<void> {
  const verdict = verdictOf(action, message);
  const { request, path } = message;
  if (verdict === null || request === null) {
    notification.close();
    return open(path);
  }
  // What is said next has the same tag and takes its place. A browser closes by tag, and late: a close would take both away.
  const answered = await answerRequest({ ...message, request }, verdict);
  await show(answered.message);
  if (!answered.isTaken && !answered.message.isSettled) await open(path);
}

/** Shows a page of Callboard: in a window that is open, if there is one. */
async function open(path: string): Promise<void> {
  const windows = await self.clients.matchAll({ type: 'window' });
  const window = windows.find(({ url }) => new URL(url).pathname !== withBase('/login'));
  try {
    if (window === undefined) return void (await self.clients.openWindow(withBase(path)));
    window.postMessage({ open: path });
    await window.focus();
  } catch {
    // A browser lets a worker do this only for a moment after the click. The notification leads there as well.
  }
}
