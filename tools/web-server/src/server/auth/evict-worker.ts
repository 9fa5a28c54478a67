import type { FastifyReply, FastifyRequest } from 'fastify';

/** A worker that takes itself out of the browser, and loads its pages anew from the server. */
const EVICTION = `self.addEventListener('install', () => self.skipWaiting());
self.addEventListener('activate', (event) => {
  const leave = async () => {
    await self.registration.unregister();
    for (const client of await self.clients.matchAll()) await client.navigate(client.url);
  };
  event.waitUntil(leave());
});
`;

/**
 * Callboard has no service workers. One that a browser asks us to renew was left by a program that had this port for a
 * while, and would go on answering in our name: whatever its address, it gets its own end. True when it was answered.
 */
export function evictWorker({ headers }: FastifyRequest, reply: FastifyReply): boolean {
  if (headers['service-worker'] !== 'script') return false;
  reply.type('text/javascript; charset=utf-8').header('cache-control', 'no-store').send(EVICTION);
  return true;
}
