import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { Transform } from 'node:stream';
import type { Random } from './random.ts';

/** Stands between the clients and the web server and cuts connections in the middle of their traffic. */
export interface CuttingProxy {
  readonly origin: string;
  /** Where connections lead from now on. */
  leadTo(port: number): void;
  /** Cuts one open connection at random; returns false if there is none. */
  cutOne(): boolean;
  close(): Promise<void>;
}

/** One in this many connections is cut automatically after some bytes of its answers. */
const ONE_IN = 40;
const LONGEST_BYTES = 3_000;

export async function createCuttingProxy(random: Random): Promise<CuttingProxy> {
  let target = 0;
  const open = new Map<Socket, Socket>();
  const server = createServer({ noDelay: true }, (client) => {
    const upstream = connect({ port: target, host: '127.0.0.1', noDelay: true });
    open.set(client, upstream);
    let left = random.between(1, ONE_IN) === 1 ? random.between(1, LONGEST_BYTES) : Number.POSITIVE_INFINITY;
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
        done(null, Buffer.from(bytes.toString('latin1').replace(ownHost, `host: 127.0.0.1:${target}`), 'latin1')),
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
    leadTo(newTarget) {
      target = newTarget;
    },
    cutOne() {
      const [first, ...others] = [...open];
      if (first === undefined) return false;
      const [client, upstream] = random.pick([first, ...others]);
      client.resetAndDestroy();
      upstream.resetAndDestroy();
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
