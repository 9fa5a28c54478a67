import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { text } from 'node:stream/consumers';
import { waitFor } from './until.ts';

/** A site on this machine, under a name that no name server knows. */
export interface HttpsSite {
  /** For example `https://callboard.example.com:8443`. */
  readonly origin: string;
  /** Where it really listens, on 127.0.0.1. */
  readonly port: number;
  /** The certificate to trust. */
  readonly ca: Buffer;
  /** The address of this machine that the requests come from. */
  readonly from?: string;
}

interface Sent {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Sends a request over a connection of its own. Resolves with the response as soon as its head is there. */
export function openHttps(
  { origin, port, ca, from }: HttpsSite,
  path: string,
  sent: Sent = {},
): Promise<IncomingMessage> {
  const { hostname, host } = new URL(origin);
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  request(
    {
      host: '127.0.0.1',
      port,
      servername: hostname,
      ca,
      path,
      agent: false,
      method: sent.method ?? 'GET',
      ...(from && { localAddress: from }),
      headers: { host, ...sent.headers },
    },
    resolve,
  )
    .once('error', reject)
    .end(sent.body);
  return waitFor(`the answer to ${path}`, promise);
}

/** Sends a request and reads the whole answer. */
export async function askHttps(site: HttpsSite, path: string, sent: Sent = {}) {
  const response = await openHttps(site, path, sent);
  const body = await waitFor(`the body of ${path}`, text(response));
  const pairs = Object.entries(response.headersDistinct).flatMap(([name, values = []]) =>
    values.map((value): [string, string] => [name, value]),
  );
  return {
    status: response.statusCode ?? 0,
    headers: new Headers(pairs),
    body,
    json: (): unknown => JSON.parse(body),
  };
}
