import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** A body that is still to come. */
const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;

/**
 * Keeps at most `max` connections that have no whole request under way (nothing was sent, half a head, half a body, or
 * nothing any more): the one that has waited longest is closed for a newer one. So nobody can take all file
 * descriptors by opening connections, or keep others out.
 */
export function limitHalfOpen(server: Server, max: number): void {
  /** In the order in which they began to wait. */
  const waiting = new Set<Socket>();

  function wait(socket: Socket): void {
    if (socket.destroyed) return;
    waiting.delete(socket);
    waiting.add(socket);
    const [oldest] = waiting;
    if (waiting.size <= max || oldest === undefined) return;
    waiting.delete(oldest);
    oldest.destroy();
  }

  server.on('connection', (socket) => {
    socket.once('close', () => waiting.delete(socket));
    wait(socket);
  });
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    if (hasBody(request)) request.once('end', () => response.writableFinished || waiting.delete(socket));
    else waiting.delete(socket);
    response.once('close', () => wait(socket));
  });
}
