import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Whether a request has a body. */
const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;

/**
 * Keeps at most `max` connections without a complete request: nothing sent yet, half a head, half a body, or idle after a
 * response. Beyond that it closes the one that has waited longest. So nobody can use up all file descriptors by opening
 * connections, or keep others out.
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
