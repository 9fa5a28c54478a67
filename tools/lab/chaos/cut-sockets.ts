/**
 * Loaded into the servers of a chaos run by `NODE_OPTIONS=--import`: at SIGUSR2 the web server loses its connection to the
 * orchestrator, in the middle of whatever is on its way. Nothing in the product knows about it.
 */
import { subscribe } from 'node:diagnostics_channel';
import { Socket } from 'node:net';

if (process.argv[1]?.includes('tools/web-server/dist')) {
  const sockets = new Set<Socket>();
  subscribe('net.client.socket', (message) => {
    const socket = typeof message === 'object' && message !== null && 'socket' in message ? message.socket : null;
    if (!(socket instanceof Socket)) return;
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  process.on('SIGUSR2', () => {
    for (const socket of sockets) socket.destroy(new Error('cut by the chaos'));
  });
}
