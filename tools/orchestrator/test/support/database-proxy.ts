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
  /**
   * Passes nothing on to the client any more and closes nothing, as a server that hangs; until `mend`, which cuts those connections.
   * @param isServerReached the server still gets what the client sends
   */
  hang(isServerReached?: boolean): void;
  /** Hangs as soon as a client sends this text, which the server gets. */
  hangAt(text: string): void;
  isHanging(): boolean;
  /** New connections work again. */
  repair(): void;
}

/** Stands between a machine and its database until the test is over. */
export async function startDatabaseProxy(target: DatabaseAddress): Promise<DatabaseProxy> {
  const [{ host, port } = { host: '', port: 0 }] = target.hosts;
  const sockets = new Set<Socket>();
  let state: 'open' | 'cut' | 'hanging' | 'answers nothing' = 'open';
  let fatal: string | null = null;
  const endAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  const server = createServer((near) => {
    if (state === 'cut') return void near.destroy();
    const far = connect(port, host);
    near.on('data', (data) => {
      if (state !== 'hanging') far.write(data);
      if (fatal !== null && data.includes(fatal)) state = 'hanging';
    });
    far.on('data', (data) => state === 'open' && near.write(data));
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        near.destroy();
        far.destroy();
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cut = () => {
    state = 'cut';
    endAll();
  };
  onTestFinished(() => {
    cut();
    server.close();
  });
  const own = server.address();
  if (own === null || typeof own === 'string') throw new Error('no port');
  return {
    address: { ...target, hosts: [{ host: '127.0.0.1', port: own.port }] },
    cut,
    hang(isServerReached = false) {
      state = isServerReached ? 'answers nothing' : 'hanging';
    },
    hangAt(text) {
      fatal = text;
    },
    isHanging: () => state === 'hanging',
    repair() {
      cut();
      fatal = null;
      state = 'open';
    },
  };
}
