import { WORKER_PATH } from '@callboard/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** A service worker that unregisters itself and reloads its pages from the server. */
const KILL_SWITCH = `self.addEventListener('install', () => self.skipWaiting());
self.addEventListener('activate', (event) => {
  const leave = async () => {
    await self.registration.unregister();
    for (const client of await self.clients.matchAll()) await client.navigate(client.url);
  };
  event.waitUntil(leave());
});
`;

/**
 * Callboard has one service worker. If a browser asks for an update of another one, a program that used this port before left
 * it behind, and it would keep answering for Callboard: it gets a kill switch, whatever its path.
 * @returns whether the request was answered
 */
export function sendKillSwitch({ headers, url }: FastifyRequest, reply: FastifyReply): boolean {
  if (headers['service-worker'] !== 'script' || url === WORKER_PATH) return false;
  reply.type('text/javascript; charset=utf-8').header('cache-control', 'no-store').send(KILL_SWITCH);
  return true;
}
