import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import type { DatabaseAddress } from '@callboard/runtime/database-url';
import { onTestFinished } from 'vitest';

/** The network between one machine and its database. */
export interface DatabaseProxy {
  /** How the database is reached through it. */
  readonly address: DatabaseAddress;
  /** Cuts all connections, and every new one, until `mend`. */
  cut(): void;
  /** Passes nothing on any more, in either direction, and closes nothing: as a server that hangs. Until `mend`, which cuts those. */
  hang(): void;
  /** New connections work again. */
  mend(): void;
}

/** Stands between a machine and its database until the test is over. */
export async function startDatabaseProxy(target: DatabaseAddress): Promise<DatabaseProxy> {
  const [{ host, port } = { host: '', port: 0 }] = target.hosts;
  const sockets = new Set<Socket>();
  let state: 'open' | 'cut' | 'hanging' = 'open';
  const endAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  const server = createServer((near) => {
    if (state === 'cut') return void near.destroy();
    const far = connect(port, host);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on('data', (data) => state === 'open' && to.write(data));
      from.on('error', () => undefined);
      from.on('close', () => {
        sockets.delete(from);
        if (state !== 'hanging') to.destroy();
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    state = 'cut';
    endAll();
    server.close();
  });
  const own = server.address();
  if (own === null || typeof own === 'string') throw new Error('no port');
  return {
    address: { ...target, hosts: [{ host: '127.0.0.1', port: own.port }] },
    cut() {
      state = 'cut';
      endAll();
    },
    hang() {
      state = 'hanging';
    },
    mend() {
      state = 'cut';
      endAll();
      state = 'open';
    },
  };
}
