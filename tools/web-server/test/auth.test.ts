import { PAGE_HEADER } from '@callboard/contract';
import { afterEach, describe, expect, it } from 'vitest';
import { bearer, type Harness, startHarness } from './harness.ts';
import { logIn, newBrowser } from './log-in.ts';

let harness: Harness;
afterEach(() => harness.stop());

describe('the login link', () => {
  it('gives a cookie once, to the page that has created a key', async () => {
    harness = await startHarness();
    harness.orchestrator.loginCodes.add('c1');
    const first = await newBrowser(harness).redeem('c1', { 'user-agent': 'X (X11; Linux) Firefox/140.0' });
    expect([first.status, first.json()]).toMatchObject([200, { login: { browser: 'Firefox on Linux' } }]);
    expect(first.headers.get('set-cookie')).toBe(
      'callboard_session_80=login-from-c1; Path=/; Expires=Thu, 01 Jan 2099 00:00:00 GMT; HttpOnly; SameSite=Strict',
    );
    expect(JSON.stringify(first.json())).not.toContain('login-from-c1');

    const second = await newBrowser(harness).redeem('c1');
    expect([second.status, second.json()]).toMatchObject([401, { code: 'bad_login_link' }]);
    expect(second.headers.get('set-cookie')).toBeNull();
  });

  it('is not used up by mere visits: an image request from another page, a preview, a program', async () => {
    harness = await startHarness();
    const { app, orchestrator } = harness;
    orchestrator.loginCodes.add('c1');
    for (const headers of [{ accept: 'image/*', 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'image' }, {}]) {
      for (let i = 0; i < 200; i++) await app.inject({ url: '/login?code=c1', headers });
    }
    await app.inject({ method: 'HEAD', url: '/login?code=c1' });
    expect(orchestrator.inputsOf('auth_redeem')).toEqual([]);
    for (let i = 0; i < 200; i++) expect((await newBrowser(harness).redeem(`guess-${i}`)).status).toBe(401);
    expect((await newBrowser(harness).redeem('c1')).status).toBe(200);
  });

  it('asks for a retry while the orchestrator is away, and keeps the link valid', async () => {
    harness = await startHarness({ orchestrated: false });
    const response = await newBrowser(harness).redeem('c1');
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1']);
  });
});

describe('a page', () => {
  it('proves itself with the key of its login; a cookie alone is refused with its own problem code', async () => {
    harness = await startHarness();
    const { app, orchestrator } = harness;
    const headers = await logIn(harness);
    const load = (given: Record<string, string>) => app.inject({ url: '/api/board', headers: given });
    expect((await load(headers)).statusCode).toBe(200);
    const { cookie = '' } = headers;
    for (const shown of [null, '', 'made.up', '1.2.3']) {
      const alone = await load({ cookie, ...(shown !== null && { [PAGE_HEADER]: shown }) });
      expect([alone.statusCode, alone.json().code]).toEqual([401, 'page_not_proven']);
      expect(alone.json().detail).toContain('A cookie alone is not enough');
    }
    const device = await app.inject({ method: 'POST', url: '/api/logins/code', headers: { cookie } });
    expect([device.statusCode, device.json().code]).toEqual([401, 'page_not_proven']);
    // These requests never reach the orchestrator.
    expect(orchestrator.inputsOf('create_login_code')).toEqual([]);
    expect(orchestrator.inputsOf('get_board')).toHaveLength(1);
    expect(orchestrator.inputsOf('auth_check')).toHaveLength(0);
  });

  it('gets nothing for the cookie of another login, for another key, or for another origin', async () => {
    harness = await startHarness();
    const { app, orchestrator } = harness;
    const mine = await logIn(harness, 'c1');
    const other = await logIn(harness, 'c2');
    const mixed = { cookie: String(other.cookie), [PAGE_HEADER]: String(mine[PAGE_HEADER]) };
    expect((await app.inject({ url: '/api/board', headers: mixed })).json().code).toBe('page_not_proven');

    const browser = newBrowser(harness);
    orchestrator.loginCodes.add('c3');
    await browser.redeem('c3');
    const elsewhere = await browser.prove(await browser.nonce(), 'http://localhost:5173');
    expect([elsewhere.status, elsewhere.json()]).toMatchObject([401, { code: 'page_not_known' }]);
    const made = await browser.prove('made.up.nonce');
    expect([made.status, made.json()]).toMatchObject([401, { code: 'page_not_proven' }]);
  });

  it('proves itself anew to another server process: neither a token nor a proof of the previous one is valid', async () => {
    const before = await startHarness();
    const browser = newBrowser(before);
    before.orchestrator.loginCodes.add('c1');
    await browser.redeem('c1');
    const token = await browser.headers();
    const nonce = await browser.nonce();
    const known = [...before.orchestrator.pages];
    await before.stop();

    harness = await startHarness({
      prepare: ({ pages }) => {
        for (const [secret, page] of known) pages.set(secret, page);
      },
    });
    const { app } = harness;
    expect((await app.inject({ url: '/api/board', headers: token })).json().code).toBe('page_not_proven');
    const { statusCode, body } = await app.inject({
      method: 'POST',
      url: '/api/login/proof',
      headers: { cookie: browser.cookie() },
      payload: { nonce, signature: 'x' },
    });
    expect([statusCode, JSON.parse(body).code]).toEqual([401, 'page_not_proven']);
  });

  it('must prove itself again after a time', async () => {
    let now = 0;
    harness = await startHarness({ now: () => now });
    const { app } = harness;
    const headers = await logIn(harness);
    const status = async () => (await app.inject({ url: '/api/board', headers })).statusCode;
    now = 11 * 3_600_000;
    expect(await status()).toBe(200);
    now = 13 * 3_600_000;
    expect(await status()).toBe(401);
  });
});

describe('the API', () => {
  it('admits a page and a bearer token, and nobody else', async () => {
    harness = await startHarness();
    const { app } = harness;
    const headers = await logIn(harness);
    const statusWith = async (given: Record<string, string>) =>
      (await app.inject({ url: '/api/board', headers: given })).statusCode;
    expect(await statusWith(headers)).toBe(200);
    expect(await statusWith(bearer)).toBe(200);
    expect(await statusWith({})).toBe(401);
    expect(await statusWith({ cookie: 'callboard_session_80=' })).toBe(401);
    expect(await statusWith({ authorization: 'Bearer wrong' })).toBe(401);
    // The secret of a cookie, which every port of this machine gets, is no token.
    expect(await statusWith({ authorization: 'Bearer login-from-c1' })).toBe(401);
    expect(await statusWith({ ...headers, authorization: 'Bearer login-from-c1' })).toBe(401);
    expect(await statusWith({ cookie: 'callboard_session_80=a-good-token' })).toBe(401);
    expect(await statusWith({ authorization: `Bearer ${'x'.repeat(600)}` })).toBe(401);
    expect(await statusWith({ authorization: 'Basic YTpi' })).toBe(401);
    const refused = await app.inject({ url: '/api/board' });
    expect(refused.json()).toMatchObject({ code: 'not_logged_in', detail: expect.stringContaining('login link') });
  });

  it('needs no check before a command: a revoked login is refused at its very next command', async () => {
    harness = await startHarness();
    const { app, orchestrator } = harness;
    const headers = await logIn(harness);
    orchestrator.handlers.get_pending = () => ({ pending: [], later: [] });
    const load = async () => (await app.inject({ url: '/api/pending', headers })).statusCode;
    expect(await load()).toBe(200);
    orchestrator.pages.clear();
    expect(await load()).toBe(401);
    orchestrator.logins.set('token', 'Ann');
    const withToken = async () =>
      (await app.inject({ url: '/api/pending', headers: { authorization: 'Bearer token' } })).statusCode;
    for (let i = 0; i < 3; i++) expect(await withToken()).toBe(200);
    expect(orchestrator.inputsOf('auth_check')).toHaveLength(1); // for an unknown token, before its body is read
    orchestrator.logins.delete('token');
    expect(await withToken()).toBe(401);
  });

  it('ends a login at once when it logs out', async () => {
    harness = await startHarness();
    const { app } = harness;
    const headers = await logIn(harness);
    const response = await app.inject({ method: 'POST', url: '/api/logout', headers });
    expect(response.statusCode).toBe(204);
    expect(response.headers['set-cookie']).toMatch(
      /^callboard_session_80=;.* Expires=Thu, 01 Jan 1970 00:00:00 GMT; HttpOnly; SameSite=Strict$/,
    );
    expect((await app.inject({ url: '/api/board', headers })).json().code).toBe('not_logged_in');
  });

  it('limits the requests per second of one credential, and counts none that shows no login', async () => {
    harness = await startHarness({ requestsPerSecond: 5 });
    const { app, orchestrator } = harness;
    orchestrator.logins.set('another', 'Ben');
    const page = await logIn(harness);
    const load = (headers: Record<string, string>) => app.inject({ url: '/api/board', headers });
    const responses = await Promise.all(Array.from({ length: 8 }, () => load(bearer)));
    expect(responses.map(({ statusCode }) => statusCode).sort()).toEqual([200, 200, 200, 200, 200, 429, 429, 429]);
    const refused = responses.find(({ statusCode }) => statusCode === 429);
    expect(refused?.json()).toMatchObject({ code: 'too_many_requests' });
    expect(refused?.headers['retry-after']).toBe('1');
    expect((await load({ authorization: 'Bearer another' })).statusCode).toBe(200);
    expect((await app.inject({ url: '/api/health', headers: bearer })).statusCode).toBe(200);
    // A client with the cookie alone does not use up the page's limit.
    for (let i = 0; i < 20; i++) expect((await load({ cookie: String(page.cookie) })).statusCode).toBe(401);
    expect((await load(page)).statusCode).toBe(200);
  });
});

describe('the origin of a request', () => {
  const get = (url: string, headers: Record<string, string>) =>
    harness.app.inject({ url, headers: { ...bearer, ...headers } });
  const post = (headers: Record<string, string>) =>
    harness.app.inject({ method: 'POST', url: '/api/logout', headers: { ...bearer, ...headers } });

  it('may be this machine under any of its loopback names, and no other name or port', async () => {
    harness = await startHarness({ port: 3100 });
    for (const host of ['localhost:3100', '127.0.0.1:3100', '[::1]:3100', 'LOCALHOST:3100']) {
      expect((await get('/api/health', { host })).statusCode).toBe(200);
    }
    for (const host of ['evil.example:3100', 'localhost', 'localhost:3101', 'localhost.evil.example:3100', '']) {
      for (const url of ['/api/health', '/login?code=c1', '/', '/%61pi/board']) {
        const response = await get(url, { host });
        expect([response.statusCode, response.json().code]).toEqual([403, 'wrong_origin']);
      }
    }
  });

  it('must be the board’s own page, or none', async () => {
    harness = await startHarness();
    for (const origin of ['http://evil.example', 'http://localhost:5173', 'https://localhost:80', 'null']) {
      expect((await post({ origin })).statusCode).toBe(403);
      for (const url of ['/api/events', '/api/health', '/login?code=c1', '/']) {
        expect((await get(url, { origin })).statusCode).toBe(403);
      }
    }
    expect((await post({ origin: 'http://localhost:80' })).statusCode).toBe(204);
  });

  it('may not be another site, including another port of this machine', async () => {
    harness = await startHarness();
    for (const site of ['cross-site', 'same-site']) {
      for (const url of ['/api/board', '/%61pi/board', '/api/health']) {
        expect((await get(url, { 'sec-fetch-site': site })).statusCode).toBe(403);
      }
    }
    for (const site of ['same-origin', 'none']) {
      expect((await get('/api/board', { 'sec-fetch-site': site })).statusCode).toBe(200);
    }
    const { statusCode } = await get('/login?code=c1', { 'sec-fetch-site': 'cross-site' }); // a link in a message
    expect(statusCode).not.toBe(403);
    harness.orchestrator.loginCodes.add('c1');
    const foreign = await newBrowser(harness).redeem('c1', { 'sec-fetch-site': 'cross-site' });
    expect(foreign.status).toBe(403);
  });

  it('gets headers that say what the board’s pages may load', async () => {
    harness = await startHarness();
    const { headers } = await get('/api/health', {});
    expect(String(headers['content-security-policy']).split(';')).toEqual([
      "default-src 'self'",
      "script-src 'self'",
      "style-src 'self' 'unsafe-inline'",
      "img-src 'self' data: blob:",
      "connect-src 'self'",
      "object-src 'none'",
      "frame-ancestors 'none'",
      "base-uri 'none'",
      "form-action 'self'",
    ]);
    expect(headers['strict-transport-security']).toBeUndefined();
  });
});
