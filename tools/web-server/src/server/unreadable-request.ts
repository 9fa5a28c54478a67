import type { Socket } from 'node:net';
import { Rejection } from './errors.ts';
import { toProblem } from './http-error.ts';

const WORDS: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: 'The headers of the request are too large.',
  ERR_HTTP_REQUEST_TIMEOUT: 'The request did not come in whole in time.',
};

/**
 * Answers what is no HTTP request, and ends its connection. It is not logged: such an error carries the bytes that came
 * in, which may hold a secret.
 */
export function answerUnreadable(error: Error & { code?: string }, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy();
  const words = WORDS[error.code ?? ''] ?? 'This is not an HTTP request that can be read.';
  const body = JSON.stringify(toProblem(new Rejection('bad_request', words)));
  const head = [
    'HTTP/1.1 400 Bad Request',
    'Content-Type: application/problem+json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}
