import { WORKER_PATH } from '@callboard/contract';
import { useEffect } from 'react';
import { useNavigate } from 'react-router';
import { z } from 'zod';
import { withBase } from './base-path.ts';
import { whenIdle } from './when-idle.ts';

/** Registers the service worker once the page is there, and follows where a clicked notification leads. */
export function useWorker(): void {
  const navigate = useNavigate();
  // Without it the page works as before: whoever wants notifications pushed is told then why they cannot be.
  useEffect(() => whenIdle(() => void registerWorker().catch(() => undefined)), []);
  useEffect(() => onOpenedByWorker((path) => void navigate(path)), [navigate]);
}

/** What the worker asks of a page: to show another page of Callboard. */
const WorkerMessage = z.object({ open: z.string() });

/** The browser's service workers; null where it has none: without HTTPS (but on this machine), or in some private windows. */
const container = (): ServiceWorkerContainer | null => ('serviceWorker' in navigator ? navigator.serviceWorker : null);

/** Registers the service worker of Callboard's pages, or looks for its update. @throws what the browser says; null where it has none */
export async function registerWorker(): Promise<ServiceWorkerRegistration | null> {
  return (await container()?.register(withBase(WORKER_PATH), { updateViaCache: 'none' })) ?? null;
}

/** The worker's registration, if this browser is subscribed to pushed notifications; null if it is not. */
export async function pushedRegistration(): Promise<ServiceWorkerRegistration | null> {
  const registration = await container()?.getRegistration();
  return ((await registration?.pushManager?.getSubscription()) ?? null) === null ? null : (registration ?? null);
}

/** Calls `open` when a notification was clicked and this page is to show where it leads. @returns a function that ends that */
function onOpenedByWorker(open: (path: string) => void): () => void {
  const workers = container();
  const listen = ({ data }: MessageEvent) => {
    const message = WorkerMessage.safeParse(data);
    if (message.success) open(message.data.open);
  };
  workers?.addEventListener('message', listen);
  return () => workers?.removeEventListener('message', listen);
}
