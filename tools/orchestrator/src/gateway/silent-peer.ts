import type { WebSocket } from 'ws';

/** How often each side of a connection between machines makes sure that the other one is there. */
export const PEER_SILENCE_MS = 10_000;

/**
 * Ends a connection when the other side has answered nothing for that long, up to twice: a network may drop everything and tell
 * nobody. @param everyMs how often it is asked
 */
export function endIfSilent(socket: WebSocket, everyMs: number): void {
  let isHeard = true;
  const timer = setInterval(() => {
    if (!isHeard) return socket.terminate();
    isHeard = false;
    socket.ping();
  }, everyMs).unref();
  socket.on('pong', () => {
    isHeard = true;
  });
  socket.on('close', () => clearInterval(timer));
}
