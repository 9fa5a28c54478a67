/** Who may be believed about where a request comes from, and what follows for cookies, origins and limits. */
import { afterEach, describe, expect, it } from 'vitest';
import { bearer, type Harness, startHarness } from './harness.ts';
import { newBrowser, type Send } from './log-in.ts';

const PUBLIC = 'https://callboard.example.com';
const HOST = 'callboard.example.com';
const PROXY = '10.0.0.2';
const CLIENT = '203.0.113.9';
const behindProxy = {
  port: 3100,
  host: '0.0.0.0',
  exposure: { publicUrl: PUBLIC, proxies: ['127.0.0.1', '10.0.0.0/8'], tls: null },
};

let harness: Harness;
afterEach(() => harness.stop());

/** What a well-kept proxy sends for a client. */
const forwarded = (client = CLIENT) => ({
  host: HOST,
  'x-forwarded-for': client,
  'x-forwarded-proto': 'https',
  'x-forwarded-host': HOST,
});

async function get(remoteAddress: string, headers: Record<string, string>, url = '/api/board') {
  const answer = await harness.app.inject({ url, remoteAddress, headers: { ...bearer, ...headers } });
  return { status: answer.statusCode, code: answer.json().code, text: String(answer.json().detail) };
}

/** A browser whose requests a proxy passes on. */
const throughProxy = (client = CLIENT, more: Record<string, string> = {}) => {
  const send: Send = async (method, url, headers, payload) => {
    const answer = await harness.app.inject({
      method,
      url,
      remoteAddress: PROXY,
      headers: { ...forwarded(client), ...more, origin: PUBLIC, ...headers },
      ...(payload && { payload }),
    });
    const pairs = [answer.headers['set-cookie'] ?? []].flat().map((cookie): [string, string] => ['set-cookie', cookie]);
    return { status: answer.statusCode, headers: new Headers(pairs), json: () => answer.json() };
  };
  return newBrowser({ origin: PUBLIC, send });
};

describe('behind a proxy', () => {
  it('answers under the public URL, and on this machine as before', async () => {
    harness = await startHarness(behindProxy);
    expect(await get(PROXY, forwarded())).toMatchObject({ status: 200 });
    expect(await get('::ffff:10.0.0.2', forwarded())).toMatchObject({ status: 200 }); // an IPv6 socket
    expect(
      await get(PROXY, { host: '127.0.0.1:3100', 'x-forwarded-proto': 'https', 'x-forwarded-host': HOST }),
    ).toMatchObject({ status: 200 });
    expect(
      await get(PROXY, { host: HOST, forwarded: `for="[2001:db8::9]:4711";proto=https;host=${HOST}` }),
    ).toMatchObject({ status: 200 });
    expect(await get('127.0.0.1', { host: 'localhost:3100' })).toMatchObject({ status: 200 });
    expect(await get('127.0.0.1', { host: 'localhost:3100', origin: 'http://localhost:3100' })).toMatchObject({
      status: 200,
    });
  });

  it.each([
    [
      'forwarded headers from an address that is not listed',
      '192.0.2.66',
      forwarded(),
      'does not speak plain HTTP with other machines',
    ],
    [
      'the same, with a loopback host',
      '192.0.2.66',
      { ...forwarded(), host: 'localhost:3100' },
      'does not speak plain HTTP',
    ],
    [
      'an address that claims to be this machine',
      '192.0.2.66',
      { host: 'localhost:3100', 'x-forwarded-for': '127.0.0.1' },
      'does not speak plain HTTP',
    ],
    [
      'a proxy that was reached by plain HTTP',
      PROXY,
      { ...forwarded(), 'x-forwarded-proto': 'http' },
      'under another address than the public URL',
    ],
    [
      'a proxy that does not say how it was reached',
      PROXY,
      { host: HOST, 'x-forwarded-for': CLIENT },
      'has to send X-Forwarded-Proto',
    ],
    ['a proxy that says nothing', PROXY, { host: HOST }, 'has to send X-Forwarded-Proto'],
    ['another host', PROXY, { ...forwarded(), 'x-forwarded-host': 'evil.example' }, 'under another address'],
    ['another host, passed on', PROXY, { host: 'evil.example', 'x-forwarded-proto': 'https' }, 'under another address'],
    ['another port', PROXY, { ...forwarded(), 'x-forwarded-host': `${HOST}:8443` }, 'under another address'],
    ['a host with a path', PROXY, { ...forwarded(), 'x-forwarded-host': `${HOST}/x` }, 'under another address'],
    [
      'a host with a user',
      PROXY,
      { ...forwarded(), 'x-forwarded-host': `${HOST}@evil.example` },
      'under another address',
    ],
    [
      'a second kind of header with another host',
      PROXY,
      { ...forwarded(), forwarded: 'host=evil.example;proto=https' },
      'contradict each other',
    ],
    [
      'a second kind of header with another scheme',
      PROXY,
      { ...forwarded(), forwarded: 'proto=http' },
      'contradict each other',
    ],
    ['the public name without the proxy', '127.0.0.1', { host: HOST }, 'under this host name'],
    [
      'a page of another site',
      PROXY,
      { ...forwarded(), origin: 'https://evil.example' },
      'A page from https://evil.example',
    ],
    ['the public site without TLS', PROXY, { ...forwarded(), origin: `http://${HOST}` }, `A page from http://${HOST}`],
    ['a page that hides its origin', PROXY, { ...forwarded(), origin: 'null' }, 'A page from null'],
  ])('refuses %s', async (_what, address, headers, text) => {
    harness = await startHarness(behindProxy);
    for (const url of ['/api/board', '/api/events', '/api/health', '/login?code=c1', '/']) {
      const { status, code, text: said } = await get(address, headers, url);
      expect([url, status, code]).toEqual([url, 403, 'wrong_origin']);
      expect(said).toContain(text);
    }
  });

  it('logs in with a Secure __Host- cookie that no other name and no plain HTTP can stand in for', async () => {
    harness = await startHarness(behindProxy);
    const { app, orchestrator } = harness;
    orchestrator.loginCodes.add('c1');
    const browser = throughProxy(CLIENT, { cookie: 'callboard_session_443=old' });
    const answer = await browser.redeem('c1');
    expect(answer.status).toBe(200);
    expect(answer.headers.getSetCookie()).toEqual([
      'callboard_session_443=; Max-Age=0; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT; HttpOnly; SameSite=Strict',
      '__Host-callboard_session_443=login-from-c1; Path=/; Expires=Thu, 01 Jan 2099 00:00:00 GMT; HttpOnly; Secure; SameSite=Strict',
    ]);
    expect(orchestrator.inputsOf('auth_redeem')).toMatchObject([{ origin: PUBLIC }]);
    const asks = async (remoteAddress: string, headers: Record<string, string>) =>
      (await app.inject({ url: '/api/board', remoteAddress, headers })).statusCode;
    const headers = await browser.headers();
    const secret = 'login-from-c1';
    expect(await asks(PROXY, { ...forwarded(), ...headers })).toBe(200);
    expect(await asks(PROXY, { ...forwarded(), ...headers, cookie: `callboard_session_443=${secret}` })).toBe(401);
    expect(await asks('127.0.0.1', { host: 'localhost:3100', ...headers })).toBe(401); // over plain HTTP
  });

  it('counts logins and guesses by the client that the proxy names, and tells who logged in from where', async () => {
    let now = 0;
    harness = await startHarness({ ...behindProxy, requestsPerSecond: 3, now: () => now });
    const { orchestrator } = harness;
    const statusesOf = async (client: string, more: Record<string, string> = {}) => {
      const answers: number[] = [];
      for (let i = 0; i < 5; i++) answers.push((await throughProxy(client, more).redeem(`guess ${i}`)).status);
      return answers.join(' ');
    };
    expect(await statusesOf(CLIENT)).toBe('401 401 401 429 429');
    expect(await statusesOf(`6.6.6.6, ${CLIENT}`)).toBe('429 429 429 429 429'); // what a client invents stands before it
    expect(await statusesOf(`${CLIENT}, 10.0.0.7`)).toBe('429 429 429 429 429'); // through two listed proxies
    expect(await statusesOf('2001:db8:1:2::1')).toBe('401 401 401 429 429');
    expect(await statusesOf('2001:db8:1:2:9:9:9:9')).toBe('429 429 429 429 429'); // one client has a whole /64
    expect(await statusesOf('2001:db8:1:3::1')).toBe('401 401 401 429 429');
    // A second kind of header that the proxy passes on as it came gives nobody another address.
    expect(await statusesOf('203.0.113.10', { forwarded: 'for=6.6.6.7' })).toBe('401 401 401 429 429');
    expect(await statusesOf('203.0.113.11', { forwarded: 'for=6.6.6.8' })).toBe('429 429 429 429 429');
    now = 1_000;
    orchestrator.loginCodes.add('c1');
    expect((await throughProxy(CLIENT).redeem('c1', { 'user-agent': 'X (iPhone) Safari/605' })).status).toBe(200);
    expect(orchestrator.inputsOf('auth_redeem').at(-1)).toMatchObject({
      browser: expect.stringContaining(`(${CLIENT})`),
    });

    const guess = (client: string, token: string) =>
      get(PROXY, { ...forwarded(client), authorization: `Bearer ${token}` });
    for (let i = 0; i < 3; i++) expect(await guess(CLIENT, `guess-${i}`)).toMatchObject({ status: 401 });
    expect(await guess(CLIENT, 'guess-4')).toMatchObject({ status: 429 });
    expect(await guess('203.0.113.10', 'guess-5')).toMatchObject({ status: 401 });
  });

  it('believes no header that names a person', async () => {
    harness = await startHarness(behindProxy);
    const names = [
      'x-forwarded-user',
      'x-forwarded-email',
      'remote-user',
      'x-remote-user',
      'x-webauth-user',
      'tailscale-user-login',
      'cf-access-authenticated-user-email',
    ];
    const headers = Object.fromEntries(names.map((name) => [name, 'ada@example.com']));
    for (const [address, sent] of [
      [PROXY, forwarded()],
      ['127.0.0.1', { host: 'localhost:3100' }],
    ] as const) {
      const { statusCode, body } = await harness.app.inject({
        url: '/api/board',
        remoteAddress: address,
        headers: { ...sent, ...headers },
      });
      expect([statusCode, JSON.parse(body).code]).toEqual([401, 'not_logged_in']);
    }
  });

  it('leaves it to the proxy to insist on HTTPS', async () => {
    harness = await startHarness(behindProxy);
    const { headers } = await harness.app.inject({ url: '/api/health', remoteAddress: PROXY, headers: forwarded() });
    expect(headers['strict-transport-security']).toBeUndefined();
  });
});

describe('through a tunnel to another port', () => {
  it('answers under the public URL, as well as under its own address, with cookies of their own', async () => {
    harness = await startHarness({
      port: 3100,
      exposure: { publicUrl: 'http://localhost:8100', proxies: [], tls: null },
    });
    for (const host of ['localhost:8100', 'localhost:3100', '127.0.0.1:3100']) {
      expect(await get('127.0.0.1', { host, origin: `http://${host}` })).toMatchObject({ status: 200 });
    }
    for (const host of ['127.0.0.1:8100', 'localhost:8101', 'evil.example:8100'])
      expect(await get('127.0.0.1', { host })).toMatchObject({ status: 403 });
    const forged = { host: 'localhost:3100', 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https' };
    expect(await get('127.0.0.1', forged)).toMatchObject({ status: 200 }); // no proxy is listed: they mean nothing
    for (const host of ['localhost:8100', 'localhost:3100']) {
      harness.orchestrator.loginCodes.add(host);
      const { headers } = await harness.app.inject({
        method: 'POST',
        url: '/api/login',
        headers: { host },
        payload: { code: host, key: newBrowser(harness).key },
      });
      expect(headers['set-cookie']).toMatch(
        new RegExp(`^callboard_session_${host.split(':')[1]}=[^;]+; .*SameSite=Strict$`),
      );
    }
  });
});
