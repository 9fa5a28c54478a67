import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { Peer } from '@callboard/contract';
import { addressList, loopbackAddresses, plainAddress } from '@callboard/runtime/address-list';
import type { Exposure } from '@callboard/runtime/supervision';
import { Rejection } from '../errors.ts';
import { type Forwarded, readForwarded } from './forwarded.ts';

/** A request, as its sender sees it. */
export interface Visit {
  /** One of ours: the public URL, or a name of the address that the server listens on. */
  origin: string;
  isSecure: boolean;
  /** The address of the client; that of the proxy, if it does not tell. */
  address: string;
  /** The connection, unless a listed proxy stands between: the process at its other end is who asks. */
  peer: Peer | undefined;
}

export interface Visits {
  /**
   * Returns where a request comes from and under which of our names it was sent. Headers of proxies count only if a listed
   * one sent the request.
   * @throws Rejection `wrong_origin` for another name (DNS rebinding), and for plain HTTP from another machine
   */
  of(request: IncomingMessage): Visit;
}

export interface VisitsDeps {
  /** The address that the server is bound to. */
  host: string;
  /** The port it really listens on. */
  port: () => number;
  exposure: Exposure;
}

const LOOPBACK_NAMES = ['localhost', '127.0.0.1', '[::1]'];
const OTHER_NAME = 'Callboard does not answer under this host name; use the address it printed.';

const refuse = (message: string): Rejection => new Rejection('wrong_origin', message);

/** Returns the origin of a host name with its port; null if they make none. */
function originOf(scheme: string, authority: string): string | null {
  const text = `${scheme}://${authority}`;
  if (!/^[\w.:[\]-]+$/.test(authority) || !URL.canParse(text)) return null;
  return new URL(text).origin;
}

export function createVisits({ host, port, exposure }: VisitsDeps): Visits {
  const seen = new WeakMap<IncomingMessage, Visit>();
  const proxies = addressList(exposure.proxies);
  const names = [...LOOPBACK_NAMES, host.includes(':') && !host.startsWith('[') ? `[${host}]` : host];
  const elsewhere = exposure.publicUrl === null ? '' : ` Open ${exposure.publicUrl}.`;

  const isOurs = (origin: string, scheme: string): boolean =>
    origin === exposure.publicUrl || names.some((name) => origin === originOf(scheme, `${name}:${port()}`));

  function direct({ socket, headers }: IncomingMessage, peer: string): Visit {
    const isSecure = socket instanceof TLSSocket;
    if (!isSecure && !loopbackAddresses.has(peer))
      throw refuse(
        proxies.has(peer)
          ? `The proxy ${peer} does not say how it was reached: it has to send X-Forwarded-Proto and X-Forwarded-For.`
          : `Callboard does not speak plain HTTP with other machines.${elsewhere}`,
      );
    const scheme = isSecure ? 'https' : 'http';
    const origin = originOf(scheme, headers.host ?? '');
    if (origin === null || !isOurs(origin, scheme)) throw refuse(OTHER_NAME);
    return { origin, isSecure, address: peer, peer: peerOf(socket) };
  }

  function viaProxy(said: Forwarded, { headers }: IncomingMessage, peer: string): Visit {
    if (said.proto === null)
      throw refuse(`The proxy ${peer} does not say how it was reached: it has to send X-Forwarded-Proto.`);
    const origin = originOf(said.proto, said.host ?? headers.host ?? '');
    if (origin === null || origin !== exposure.publicUrl)
      throw refuse(`The proxy was reached under another address than the public URL.${elsewhere}`);
    return { origin, isSecure: origin.startsWith('https:'), address: said.address ?? peer, peer: undefined };
  }

  function read(request: IncomingMessage): Visit {
    const peer = plainAddress(request.socket.remoteAddress ?? '');
    const said = proxies.has(peer) ? readForwarded(request.headers, proxies) : null;
    if (said === 'contradiction') throw refuse('The headers X-Forwarded-... and Forwarded contradict each other.');
    return said === null ? direct(request, peer) : viaProxy(said, request, peer);
  }

  return {
    of(request) {
      const known = seen.get(request);
      if (known !== undefined) return known;
      const visit = read(request);
      seen.set(request, visit);
      return visit;
    },
  };
}

function peerOf({ remoteAddress, remotePort, localAddress, localPort }: Socket): Peer | undefined {
  if (remoteAddress === undefined || remotePort === undefined) return undefined;
  if (localAddress === undefined || localPort === undefined) return undefined;
  const [address, ownAddress] = [plainAddress(remoteAddress), plainAddress(localAddress)];
  return { address, port: remotePort, ownAddress, ownPort: localPort };
}

/** What limits count by: an address, or the network of an IPv6 address, all of which one client has. */
export function addressKey(address: string): string {
  if (!address.includes(':')) return address;
  const [before = '', after] = address.split('::', 2);
  const head = before === '' ? [] : before.split(':');
  const tail = after === undefined || after === '' ? [] : after.split(':');
  const groups = [...head, ...Array<string>(Math.max(0, 8 - head.length - tail.length)).fill('0'), ...tail];
  return `${groups.slice(0, 4).join(':')}::/64`;
}
