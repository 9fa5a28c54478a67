import { createServer } from 'node:net';
import { messageOf, systemCode } from '@callboard/runtime/errors';
import { isCallboard } from '../board-address.ts';
import { type Finding, ok, problem } from './report.ts';

export interface PortToCheck {
  readonly host: string;
  readonly port: number;
  /** The flag that sets this port. */
  readonly flag: string;
  /** The Callboard of the data directory, if it runs on this port. */
  readonly own: { pid: number } | null;
}

/** Checks whether a port is free, and if not, who uses it. */
export async function checkPort({ host, port, flag, own }: PortToCheck): Promise<Finding> {
  if (port === 0) return ok('any free one');
  if (own !== null) return ok(`${port}, used by the Callboard that runs on this data directory (process ${own.pid})`);
  const cause = await tryToListen(host, port);
  if (cause === null) return ok(`${port} is free`);
  const another = `callboard start ${flag} ${port < 65_000 ? port + 100 : port - 100}`;
  switch (systemCode(cause)) {
    case 'EADDRINUSE': {
      const who = (await isCallboard(host, port)) ? 'a Callboard with another data directory' : 'another program';
      return problem(`${port} is used by ${who}`, `End that one, or take another port: ${another}`);
    }
    case 'EACCES':
      return problem(`this account may not use port ${port} (below 1024)`, another);
    case 'EADDRNOTAVAIL':
      return problem(`${host} is not an address of this machine`, 'Use --host 127.0.0.1');
    default:
      return problem(`${port} cannot be listened on: ${messageOf(cause)}`, another);
  }
}

async function tryToListen(host: string, port: number): Promise<unknown> {
  const { promise, resolve } = Promise.withResolvers<unknown>();
  const server = createServer();
  server.once('error', resolve);
  server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(null)));
  return promise;
}
