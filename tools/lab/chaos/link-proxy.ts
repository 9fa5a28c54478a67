import { once } from 'node:events';
import { connect, createServer, type NetConnectOpts, type Socket } from 'node:net';
import type { Random } from './random.ts';

/** The way from one machine to the database, or from the other machines to it; each byte goes through it. */
export interface LinkProxy {
  readonly port: number;
  /** Cuts one open connection in the middle of its traffic; returns false if there is none. */
  cutOne(): boolean;
  /**
   * Cuts the whole link. `refuse`: connections end and new ones are refused, as when a process is gone; `swallow`: nothing
   * passes, and nobody is told, as when a cable is pulled.
   */
  block(how: 'refuse' | 'swallow'): void;
  /** Lets everything pass again; what was swallowed arrives late. */
  unblock(): void;
  close(): Promise<void>;
}

/** @param host where it listens: the loopback address, or that of the network to a machine in a namespace of its own */
export async function createLinkProxy(target: NetConnectOpts, random: Random, host: string): Promise<LinkProxy> {
  const open = new Map<Socket, Socket>();
  let blocked: 'refuse' | 'swallow' | null = null;
  const cut = (client: Socket, upstream: Socket) => {
    open.delete(client);
    client.resetAndDestroy();
    // A socket in a folder cannot be reset.
    if ('path' in target) upstream.destroy();
    else upstream.resetAndDestroy();
  };
  // As PostgreSQL does it for Callboard: a machine may give a connection up while nobody can hear of that.
  const keepAlive = { keepAlive: true, keepAliveInitialDelay: 5_000 };
  const server = createServer({ noDelay: true, pauseOnConnect: true, ...keepAlive }, (client) => {
    client.on('error', () => undefined);
    if (blocked === 'refuse') return void client.resetAndDestroy();
    const upstream = connect({ ...target, noDelay: true });
    open.set(client, upstream);
    const end = () => {
      if (blocked === 'swallow') return; // nobody is told
      open.delete(client);
      client.destroy();
      upstream.destroy();
    };
    for (const side of [client, upstream]) side.on('error', end).on('close', end);
    if (blocked !== null) return; // accepted by the system, and never answered
    join(client, upstream);
  });
  server.listen(0, host);
  await once(server, 'listening');
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    cutOne() {
      const [first, ...others] = [...open];
      if (first === undefined) return false;
      cut(...random.pick([first, ...others]));
      return true;
    },
    block(how) {
      blocked = how;
      for (const [client, upstream] of open) {
        if (how === 'refuse') cut(client, upstream);
        else {
          client.unpipe(upstream).pause();
          upstream.unpipe(client).pause();
        }
      }
    },
    unblock() {
      const wasSwallowing = blocked === 'swallow';
      blocked = null;
      if (!wasSwallowing) return;
      for (const [client, upstream] of open) {
        if (client.destroyed || upstream.destroyed) cut(client, upstream);
        else join(client, upstream);
      }
    },
    async close() {
      for (const [client, upstream] of open) cut(client, upstream);
      server.close();
      await once(server, 'close');
    },
  };
}

function join(client: Socket, upstream: Socket): void {
  client.pipe(upstream);
  upstream.pipe(client);
}
