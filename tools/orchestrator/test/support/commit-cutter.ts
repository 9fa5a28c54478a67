import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import type { DatabaseAddress } from '@callboard/runtime/database-url';
import { onTestFinished } from 'vitest';

/** Passes a database on, and cuts a connection just before or just after the server commits what it has written. */
export async function startCommitCutter(target: DatabaseAddress) {
  const [{ host, port } = { host: '', port: 0 }] = target.hosts;
  const sockets = new Set<Socket>();
  let due: 'before' | 'after' | null = null;
  let isLast = false;
  const server = createServer((near) => {
    const far = connect(port, host);
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        near.destroy();
        far.destroy();
      });
    }
    let isCut = false;
    near.on('data', (data) => {
      const moment = data.includes('pg_notify') ? due : null;
      if (moment !== null) {
        due = null;
        if (isLast) server.close();
      }
      if (moment === 'before') near.destroy();
      else far.write(data);
      isCut ||= moment === 'after';
    });
    far.on('data', (data) => (isCut ? near.destroy() : near.write(data)));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const own = server.address();
  if (own === null || typeof own === 'string') throw new Error('no port');
  return {
    address: { ...target, hosts: [{ host: '127.0.0.1', port: own.port }] },
    /** @param thenRefuse takes no connection after that */
    cutNext(moment: 'before' | 'after', thenRefuse = false): void {
      due = moment;
      isLast = thenRefuse;
    },
  };
}
