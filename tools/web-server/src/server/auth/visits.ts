import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { isIP, type Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { BoardNotices, Peer } from '@callboard/contract';
import { type AddressList, addressList, loopbackAddresses, plainAddress } from '@callboard/runtime/address-list';
import { createEmitter } from '@callboard/runtime/emitter';
import { basePathOf, type Exposure } from '@callboard/runtime/supervision';
import { Rejection } from '../errors.ts';
import type { OrchestratorClient } from '../orchestrator/client.ts';

/** A request, as its sender sees it. */
export interface Visit {
  /** One of ours: the public URL, or a name of the address that the server listens on. */
  origin: string;
  isSecure: boolean;
  /** The path that all of Callboard is below, without a slash at its end; empty if it has the host for itself. */
  basePath: string;
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
  const publicOrigin = exposure.publicUrl === null ? null : new URL(exposure.publicUrl).origin;
  const basePath = basePathOf(exposure);
  const elsewhere = exposure.publicUrl === null ? '' : ` Open ${exposure.publicUrl}.`;

  const isOurs = (origin: string, scheme: string): boolean =>
    origin === publicOrigin || names.some((name) => origin === originOf(scheme, `${name}:${port()}`));

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
    return { origin, isSecure, basePath, address: peer, peer: peerOf(socket) };
  }

  function viaProxy(said: Forwarded, { headers }: IncomingMessage, peer: string): Visit {
    if (said.proto === null)
      throw refuse(`The proxy ${peer} does not say how it was reached: it has to send X-Forwarded-Proto.`);
    const origin = originOf(said.proto, said.host ?? headers.host ?? '');
    if (origin === null || origin !== publicOrigin)
      throw refuse(`The proxy was reached under another address than the public URL.${elsewhere}`);
    const isSecure = origin.startsWith('https:');
    return { origin, isSecure, basePath, address: said.address ?? peer, peer: undefined };
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

/** What the proxies say about a request. Null: not said. */
export interface Forwarded {
  proto: string | null;
  host: string | null;
  /** The client: the last address that is no proxy of ours. Null if it is unknown or the headers disagree. */
  address: string | null;
}

interface Said {
  proto: string | null;
  host: string | null;
  /** From the client to the last proxy. */
  addresses: string[];
}

/**
 * Reads `X-Forwarded-For/-Proto/-Host` and `Forwarded` (RFC 7239) of a request that a listed proxy sent. The last entries
 * count: the nearest proxy wrote them, everything before may be the client's own invention. A proxy that sets one kind of
 * headers often passes on the other as the client sent it; where both are there and differ, neither is believed.
 * @returns null if no such header is there; `'contradiction'` if the two kinds name different hosts or schemes
 */
function readForwarded(headers: IncomingHttpHeaders, proxies: AddressList): Forwarded | 'contradiction' | null {
  const said = [readX(headers), readStandard(headers)].filter((one) => one !== null);
  const [first, second = first] = said;
  if (first === undefined || second === undefined) return null;
  if (differ(first.proto, second.proto) || differ(first.host, second.host)) return 'contradiction';
  const addresses = said.map((one) => clientOf(one.addresses, proxies));
  const isAgreed = addresses.every((address) => address === addresses[0]);
  return {
    proto: first.proto ?? second.proto,
    host: first.host ?? second.host,
    address: isAgreed ? (addresses[0] ?? null) : null,
  };
}

const differ = (one: string | null, other: string | null): boolean => one !== null && other !== null && one !== other;

function readX(headers: IncomingHttpHeaders): Said | null {
  const [addresses, protos, hosts] = ['x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-host'].map((name) =>
    String(headers[name] ?? '')
      .split(',')
      .map((entry) => entry.trim())
      .filter((entry) => entry !== ''),
  );
  const proto = protos?.at(-1)?.toLowerCase() ?? null;
  const host = hosts?.at(-1)?.toLowerCase() ?? null;
  if (addresses === undefined || (addresses.length === 0 && proto === null && host === null)) return null;
  return { proto, host, addresses };
}

/** A list of `name=value` pairs, separated by `;`, for each proxy; values may be in quotes. */
const PAIR = /(?:^|[;,])\s*(for|proto|host|by)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;,"]*))/gi;

function readStandard({ forwarded }: IncomingHttpHeaders): Said | null {
  if (forwarded === undefined) return null;
  const said: Said = { proto: null, host: null, addresses: [] };
  for (const [, name = '', quoted, plain = ''] of forwarded.matchAll(PAIR)) {
    const value = (quoted?.replaceAll(/\\(.)/g, '$1') ?? plain).toLowerCase();
    if (/^for$/i.test(name)) said.addresses.push(value);
    else if (/^proto$/i.test(name)) said.proto = value;
    else if (/^host$/i.test(name)) said.host = value;
  }
  return said;
}

/** Returns the last address that is no proxy; null for an entry that is no address. */
function clientOf(addresses: readonly string[], proxies: AddressList): string | null {
  const known = addresses.map(addressOf);
  const client = known.findLast((address) => address === null || !proxies.has(address));
  return client === undefined ? (known[0] ?? null) : client;
}

/** Returns the address of an entry, which may have a port; null for `unknown` and the like. */
function addressOf(entry: string): string | null {
  const [, inBrackets, withPort] = /^(?:\[([0-9a-f:.%]+)\](?::\d+)?|(\d+(?:\.\d+){3}):\d+)$/i.exec(entry) ?? [];
  const address = plainAddress(inBrackets ?? withPort ?? entry);
  return isIP(address) === 0 ? null : address;
}

/** The orchestrator, with a warning of the web server's own above the board. */
export interface ClientWithWarning {
  client: OrchestratorClient;
  /** Shows a warning in place of the last one; null for none. */
  warn(text: string | null): void;
}

/** Adds the web server's own warning to what the orchestrator tells of the board. */
export function withOwnWarning(inner: OrchestratorClient): ClientWithWarning {
  const changed = createEmitter<BoardNotices>();
  let own: string | null = null;

  const all = (warnings: readonly string[]): string[] => (own === null ? [...warnings] : [own, ...warnings]);
  const withOwn = (notices: BoardNotices): BoardNotices => ({ ...notices, warnings: all(notices.warnings) });

  const client: OrchestratorClient = {
    ...inner,
    async send(type, input, options) {
      const reply = await inner.send(type, input, options);
      if (type !== 'get_board' || !('warnings' in reply) || !Array.isArray(reply.warnings)) return reply;
      return Object.assign(reply, { warnings: all(reply.warnings) });
    },
    listen(listener) {
      const { notices } = listener;
      if (notices === undefined) return inner.listen(listener);
      const unsubscribe = changed.subscribe(notices);
      const end = inner.listen({ ...listener, notices: (reported) => notices(withOwn(reported)) });
      return () => {
        unsubscribe();
        end();
      };
    },
    notices() {
      const reported = inner.notices();
      return reported === null ? null : withOwn(reported);
    },
  };

  return {
    client,
    warn(text) {
      own = text;
      const reported = client.notices();
      if (reported !== null) changed.emit(reported);
    },
  };
}
