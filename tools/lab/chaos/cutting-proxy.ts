import { once } from 'node:events';
import { connect, createServer, type NetConnectOpts, type Socket } from 'node:net';
import { Transform } from 'node:stream';
import type { Random } from './random.ts';

/** Stands between the clients and the web servers and cuts connections in the middle of their traffic. */
export interface CuttingProxy {
  readonly origin: string;
  /** Where connections lead from now on: each to one of the doors, as a balancer without memory does it. */
  leadTo(...entries: [ProxyEntry, ...ProxyEntry[]]): void;
  /** Cuts one open connection at random; returns false if there is none. */
  cutOne(): boolean;
  close(): Promise<void>;
}

/** Where a web server is reached from here, and the address under which it answers. */
export interface ProxyEntry {
  readonly connect: NetConnectOpts;
  readonly host: string;
}

/** The door of a server that listens here. */
export function entryOf(origin: string): ProxyEntry {
  const { hostname, port, host } = new URL(origin);
  return { connect: { host: hostname, port: Number(port) }, host };
}

/** One in this many connections is cut automatically after some bytes of its answers. */
const ONE_IN = 40;
const MAX_BYTES_LENGTH = 3_000;

export async function createCuttingProxy(random: Random): Promise<CuttingProxy> {
  let entries: readonly [ProxyEntry, ...ProxyEntry[]] | undefined;
  const open = new Map<Socket, Socket>();
  const server = createServer({ noDelay: true }, (client) => {
    if (entries === undefined) return void client.destroy();
    const entry = random.pick(entries);
    const upstream = connect({ ...entry.connect, noDelay: true });
    open.set(client, upstream);
    let left = random.between(1, ONE_IN) === 1 ? random.between(1, MAX_BYTES_LENGTH) : Number.POSITIVE_INFINITY;
    const end = () => {
      open.delete(client);
      client.destroy();
      upstream.destroy();
    };
    upstream.on('data', (bytes: Buffer) => {
      left -= bytes.length;
      if (left > 0) return;
      client.write(bytes.subarray(0, bytes.length + left));
      end();
    });
    // The board answers only under its own address. A request's head comes in one piece: it is small.
    const readdressed = new Transform({
      transform: (bytes: Buffer, _encoding, done) =>
        done(null, Buffer.from(bytes.toString('latin1').replace(ownHost, `host: ${entry.host}`), 'latin1')),
    });
    client.pipe(readdressed).pipe(upstream);
    upstream.pipe(client);
    for (const side of [client, upstream]) side.on('error', end).on('close', end);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const ownHost = new RegExp(`host: 127.0.0.1:${port}`, 'i');
  return {
    origin: `http://127.0.0.1:${port}`,
    leadTo(...others) {
      entries = others;
    },
    cutOne() {
      const [first, ...others] = [...open];
      if (first === undefined) return false;
      const [client, upstream] = random.pick([first, ...others]);
      client.resetAndDestroy();
      upstream.destroy(); // it may be a socket in a folder, which cannot be reset
      return true;
    },
    async close() {
      for (const [client, upstream] of open) {
        client.destroy();
        upstream.destroy();
      }
      server.close();
      await once(server, 'close');
    },
  };
}
