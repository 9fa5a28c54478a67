import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';
import { type AddressList, plainAddress } from '@callboard/runtime/address-list';

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
export function readForwarded(headers: IncomingHttpHeaders, proxies: AddressList): Forwarded | 'contradiction' | null {
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
