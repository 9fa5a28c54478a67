import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { BlockList, isIPv4, isIPv6, type LookupFunction } from 'node:net';

// An import makes Node fill in every export of the modules, which loads its whole HTTP client.
const { request: requestPlain } = process.getBuiltinModule('node:http');
const { request: requestTls } = process.getBuiltinModule('node:https');
const { lookup } = process.getBuiltinModule('node:dns');
const { isIP } = process.getBuiltinModule('node:net');

/** A request to somebody else's server. */
export interface Post {
  url: string;
  headers: OutgoingHttpHeaders;
  body: string | Buffer | null;
}

export interface PostRules {
  /** Why an address must not be connected to, in words that go on after "was not used:"; null if it may. */
  refuse(address: string): string | null;
  timeLimitMs: number;
  /** Certificates to trust, for tests. */
  ca?: string | undefined;
}

/**
 * What came of it. `answered`: with whatever status; a redirect is an answer and is not followed. `text` is the beginning of the body.
 * `afterMs`: the server wants nothing before, 0 if it did not say. `unreached`: why, in words that name the host and nothing else of the URL.
 */
export type Posted =
  | { kind: 'answered'; status: number; text: string; afterMs: number }
  | { kind: 'unreached'; error: string };

/** More of an answer is not read. */
const MAX_READ_BYTES = 64 * 1024;

/** Refused by the rules, not by the network. */
class AddressRefused extends Error {}

/** Sends one request with POST. Checks each address after the lookup, and connects to that very one. Never rejects. */
export function post({ url, headers, body }: Post, rules: PostRules, signal: AbortSignal): Promise<Posted> {
  const { protocol, hostname } = new URL(url);
  const address = hostname.replace(/^\[(.*)\]$/, '$1');
  const refusal = isIP(address) === 0 ? null : rules.refuse(address);
  if (refusal !== null)
    return Promise.resolve({ kind: 'unreached', error: unreachableText(hostname, new AddressRefused(refusal)) });
  const { promise, resolve } = Promise.withResolvers<Posted>();
  const fail = (error: Error) => resolve({ kind: 'unreached', error: unreachableText(hostname, error) });
  const options = {
    method: 'POST',
    headers,
    lookup: guardedLookup(rules),
    agent: false,
    signal: AbortSignal.any([signal, AbortSignal.timeout(rules.timeLimitMs)]),
    ...(rules.ca !== undefined && { ca: rules.ca }),
  };
  const request = protocol === 'http:' ? requestPlain : requestTls;
  const sending = request(url, options, (answer) => {
    void readStart(answer).then((text) => {
      const afterMs = Number(answer.headers['retry-after'] ?? 0) * 1_000;
      resolve({
        kind: 'answered',
        status: answer.statusCode ?? 0,
        text,
        afterMs: Number.isFinite(afterMs) ? Math.max(0, afterMs) : 0,
      });
    }, fail);
  });
  sending.on('error', fail);
  // Without a listener, Node ends the connection and tells nobody.
  sending.on('upgrade', (_, socket) => {
    socket.destroy();
    fail(new Error('it changed the protocol'));
  });
  sending.end(body ?? undefined);
  return promise;
}

/** Looks at each address itself, so that no name leads inside, whatever it pointed to a moment ago. */
function guardedLookup({ refuse }: PostRules): LookupFunction {
  return (hostname, options, found) => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return found(error, '', 0);
      const allowed = addresses.filter(({ address }) => refuse(address) === null);
      const [first] = allowed;
      if (first === undefined) return found(new AddressRefused(refuse(addresses[0]?.address ?? '') ?? ''), '', 0);
      return options.all === true ? found(null, allowed) : found(null, first.address, first.family);
    });
  };
}

async function readStart(answer: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of answer) {
    const read = Buffer.from(part);
    parts.push(read);
    bytes += read.length;
    if (bytes >= MAX_READ_BYTES) break; // which ends the connection
  }
  return Buffer.concat(parts).toString('utf8', 0, MAX_READ_BYTES).trim();
}

function unreachableText(host: string, error: Error): string {
  if (error instanceof AddressRefused) return `${host} was not used: ${error.message}.`;
  if (error.name === 'AbortError' || error.name === 'TimeoutError') return `${host} did not answer in time.`;
  return `${host} could not be reached: ${error.message}.`;
}

/** Addresses that are not on the internet, or that stand for others (IANA's special-purpose registries). */
const SPECIAL: readonly (readonly [network: string, prefix: number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
];
/** Of IPv6 only this is handed out, and these parts of it are not. */
const GLOBAL_V6 = ['2000::', 3] as const;
const SPECIAL_V6: readonly (readonly [network: string, prefix: number])[] = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
];

const special = new BlockList();
for (const [network, prefix] of SPECIAL) special.addSubnet(network, prefix, 'ipv4');
for (const [network, prefix] of SPECIAL_V6) special.addSubnet(network, prefix, 'ipv6');
const global = new BlockList();
global.addSubnet(...GLOBAL_V6, 'ipv6');

/** Whether an IP address is one of the internet: not of this machine, of a private network, or of a cloud's own services. */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !special.check(address, 'ipv4');
  return isIPv6(address) && global.check(address, 'ipv6') && !special.check(address, 'ipv6');
}
