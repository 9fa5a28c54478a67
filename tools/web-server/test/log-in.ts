/** A browser that logs in and proves its pages, as the client of the board does. */
import { Challenge, PAGE_HEADER, PageToken } from '@callboard/contract';
import { askHttps, type HttpsSite } from '../../../test-support/https-client.ts';
import { createPageKey } from '../../../test-support/page-key.ts';
import type { Harness } from './harness.ts';

interface Answer {
  status: number;
  headers: Headers;
  json: () => unknown;
}

/** Sends a request to the server, listening or not. */
export type Send = (
  method: 'GET' | 'POST',
  path: string,
  headers: Record<string, string>,
  body?: object,
) => Promise<Answer>;

const viaInject =
  ({ app }: Pick<Harness, 'app'>): Send =>
  async (method, url, headers, payload) => {
    const {
      statusCode,
      headers: given,
      body,
    } = await app.inject({ method, url, headers, ...(payload && { payload }) });
    const pairs = Object.entries(given).map(([name, value]): [string, string] => [name, String(value)]);
    return { status: statusCode, headers: new Headers(pairs), json: () => JSON.parse(body) };
  };

const viaFetch =
  (origin: string): Send =>
  async (method, path, headers, body) => {
    const json = { 'content-type': 'application/json' };
    const response = await fetch(`${origin}${path}`, {
      method,
      headers: { ...headers, ...(body && json) },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, json: () => JSON.parse(text) };
  };

/** Where a browser finds the server: a running one, an injected one, or one that is reached in a way of its own. */
type Location = string | Pick<Harness, 'app'> | { origin: string; send: Send };

function locationOf(at: Location): { origin: string; send: Send } {
  if (typeof at === 'string') return { origin: at, send: viaFetch(at) };
  return 'app' in at ? { origin: 'http://localhost', send: viaInject(at) } : at;
}

/** A browser of one origin. `app.inject` sends `localhost:80` in its Host header. */
export function newBrowser(at: Location) {
  const { origin, send } = locationOf(at);
  const { key, signFor } = createPageKey();
  let cookie = '';

  return {
    key,
    cookie: () => cookie,
    async redeem(code: string, headers: Record<string, string> = {}): Promise<Answer> {
      const answer = await send('POST', '/api/login', headers, { code, key });
      const isSet = (each: string) => !/^[^=]*=;/.test(each); // the others are removed
      cookie = answer.headers.getSetCookie().find(isSet)?.split(';', 1)[0] ?? '';
      return answer;
    },
    nonce: async (): Promise<string> => Challenge.parse((await send('GET', '/api/login/nonce', {})).json()).nonce,
    /** Sends a nonce, signed for a page of this origin or of another. */
    prove: (nonce: string, forOrigin = origin): Promise<Answer> =>
      send('POST', '/api/login/proof', { cookie }, { nonce, signature: signFor(forOrigin, nonce) }),
    /** The headers that a page of this browser sends with each request. */
    async headers(): Promise<Record<string, string>> {
      const { token } = PageToken.parse((await this.prove(await this.nonce())).json());
      return { cookie, [PAGE_HEADER]: token };
    },
  };
}

/** A browser that reaches a site by HTTPS, and trusts its certificate. */
export const httpsBrowser = (site: HttpsSite) => {
  const send: Send = async (method, path, headers, body) => {
    const json = { 'content-type': 'application/json' };
    const given = { origin: site.origin, ...headers, ...(body && json) };
    return askHttps(site, path, { method, headers: given, ...(body && { body: JSON.stringify(body) }) });
  };
  return newBrowser({ origin: site.origin, send });
};

/** A browser that has followed a login link; resolves with the headers that its page sends with each request. */
export async function logIn({ app, orchestrator }: Harness, code = 'c1'): Promise<Record<string, string>> {
  const browser = newBrowser({ app });
  orchestrator.loginCodes.add(code);
  await browser.redeem(code);
  return browser.headers();
}
