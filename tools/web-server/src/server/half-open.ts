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
  /** In the order in which they began to wait. By remote end, since HTTPS has two sockets for a connection. */
  const waiting = new Map<string, Socket>();
  const ends = new WeakMap<Socket, string>();
  const endOf = (socket: Socket): string => ends.get(socket) ?? '';

  function wait(socket: Socket): void {
    if (socket.destroyed) return;
    waiting.delete(endOf(socket));
    waiting.set(endOf(socket), socket);
    const [oldest] = waiting;
    if (waiting.size <= max || oldest === undefined) return;
    waiting.delete(oldest[0]);
    oldest[1].destroy();
  }

  function begin(socket: Socket): void {
    const end = `${socket.remoteAddress} ${socket.remotePort}`;
    ends.set(socket, end);
    socket.once('close', () => waiting.get(end) === socket && waiting.delete(end));
    wait(socket);
  }

  server.on('connection', begin);
  server.on('secureConnection', begin); // after the handshake
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    if (hasBody(request)) request.once('end', () => response.writableFinished || waiting.delete(endOf(socket)));
    else waiting.delete(endOf(socket));
    response.once('close', () => wait(socket));
  });
}
