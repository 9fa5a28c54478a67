import { afterEach, describe, expect, it } from 'vitest';
import { bearer, type Harness, startHarness } from './harness.ts';

let harness: Harness;
afterEach(() => harness.stop());

const page = { accept: 'text/html,*/*;q=0.8' };
const login = (code: string, headers: Record<string, string> = {}) =>
  harness.app.inject({ url: `/login?code=${code}`, headers: { ...page, ...headers } });

describe('the login link', () => {
  it('gives a cookie once, and then a page that says what to do', async () => {
    harness = await startHarness();
    harness.orchestrator.loginCodes.add('c1');
    const first = await login('c1');
    expect(first.statusCode).toBe(303);
    expect(first.headers.location).toBe('/');
    expect(first.headers['set-cookie']).toBe(
      'callboard_session_80=login-from-c1; Path=/; Expires=Thu, 01 Jan 2099 00:00:00 GMT; HttpOnly; SameSite=Strict',
    );

    const second = await login('c1');
    expect(second.statusCode).toBe(401);
    expect(second.headers['content-type']).toMatch(/^text\/html/);
    expect(second.headers['set-cookie']).toBeUndefined();
    expect(second.body).toContain('start Callboard again');
    expect(second.body).not.toContain('<script');
  });

  it('leads to the board where the browser is logged in already', async () => {
    harness = await startHarness();
    harness.orchestrator.loginCodes.add('c1');
    await login('c1');
    const again = await login('c1', { cookie: 'callboard_session_80=login-from-c1' });
    expect([again.statusCode, again.headers.location]).toEqual([303, '/']);
    expect((await login('c1', { cookie: 'callboard_session_80=forged' })).statusCode).toBe(401);
  });

  it('is not used up by a program that only looks at it', async () => {
    harness = await startHarness();
    harness.orchestrator.loginCodes.add('c1');
    const looked = await harness.app.inject({ method: 'HEAD', url: '/login?code=c1' });
    expect(looked.headers['set-cookie']).toBeUndefined();
    expect((await login('c1')).statusCode).toBe(303);
  });

  it('can be tried ten times a minute', async () => {
    harness = await startHarness({ loginsPerMinute: 10 });
    for (let i = 0; i < 10; i++) expect((await login('guess')).statusCode).toBe(401);
    const refused = await harness.app.inject({ url: '/login?code=guess' });
    expect(refused.statusCode).toBe(429);
    expect(refused.headers['content-type']).toMatch(/^application\/problem\+json/);
    expect(refused.json()).toMatchObject({ code: 'too_many_requests' });
    const refusedPage = await login('guess');
    expect([refusedPage.statusCode, refusedPage.headers['content-type']]).toEqual([429, 'text/html; charset=utf-8']);
    expect(harness.orchestrator.inputsOf('auth_redeem')).toHaveLength(10);
  });

  it('says to try again while the orchestrator is away, and keeps the link good', async () => {
    harness = await startHarness({ orchestrated: false });
    const response = await login('c1');
    expect([response.statusCode, response.headers['retry-after']]).toEqual([503, '1']);
    expect(response.body).toContain('Reload this page');
  });
});

describe('the API', () => {
  it('lets in a cookie and a bearer token, and nobody else', async () => {
    harness = await startHarness();
    harness.orchestrator.loginCodes.add('c1');
    await login('c1');
    const { app } = harness;
    const statusWith = async (headers: Record<string, string>) =>
      (await app.inject({ url: '/api/board', headers })).statusCode;
    expect(await statusWith({ cookie: 'callboard_session_80=login-from-c1' })).toBe(200);
    expect(await statusWith(bearer)).toBe(200);
    expect(await statusWith({})).toBe(401);
    expect(await statusWith({ cookie: 'callboard_session_80=' })).toBe(401);
    expect(await statusWith({ authorization: 'Bearer wrong' })).toBe(401);
    expect(await statusWith({ authorization: `Bearer ${'x'.repeat(600)}` })).toBe(401);
    expect(await statusWith({ authorization: 'Basic YTpi' })).toBe(401);
    const refused = await app.inject({ url: '/api/board' });
    expect(refused.json()).toMatchObject({ code: 'not_logged_in', detail: expect.stringContaining('login link') });
  });

  it('asks once for many requests, and again when some time has passed', async () => {
    let now = 0;
    harness = await startHarness({ now: () => now, loginCacheMs: 3_000 });
    const { app, orchestrator } = harness;
    const load = () => app.inject({ url: '/api/pending', headers: bearer });
    orchestrator.handlers.get_pending = () => ({ pending: [] });
    await Promise.all([load(), load(), load()]);
    expect(orchestrator.inputsOf('auth_check')).toHaveLength(1);
    orchestrator.logins.clear();
    now = 2_999;
    expect((await load()).statusCode).toBe(200);
    now = 3_000;
    expect((await load()).statusCode).toBe(401);
  });

  it('ends a login at once when it logs out', async () => {
    harness = await startHarness();
    const { app } = harness;
    const response = await app.inject({ method: 'POST', url: '/api/logout', headers: bearer });
    expect(response.statusCode).toBe(204);
    expect(response.headers['set-cookie']).toMatch(
      /^callboard_session_80=;.* Expires=Thu, 01 Jan 1970 00:00:00 GMT; HttpOnly; SameSite=Strict$/,
    );
    expect((await app.inject({ url: '/api/board', headers: bearer })).statusCode).toBe(401);
  });

  it('takes so many requests a second from one credential', async () => {
    harness = await startHarness({ requestsPerSecond: 5 });
    const { app, orchestrator } = harness;
    orchestrator.logins.set('another', 'Ben');
    const load = (headers: Record<string, string>) => app.inject({ url: '/api/board', headers });
    const responses = await Promise.all(Array.from({ length: 8 }, () => load(bearer)));
    expect(responses.map(({ statusCode }) => statusCode).sort()).toEqual([200, 200, 200, 200, 200, 429, 429, 429]);
    const refused = responses.find(({ statusCode }) => statusCode === 429);
    expect(refused?.json()).toMatchObject({ code: 'too_many_requests' });
    expect(refused?.headers['retry-after']).toBe('1');
    expect((await load({ authorization: 'Bearer another' })).statusCode).toBe(200);
    expect((await app.inject({ url: '/api/health', headers: bearer })).statusCode).toBe(200);
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

  it('must be our own page, or none', async () => {
    harness = await startHarness();
    for (const origin of ['http://evil.example', 'http://localhost:5173', 'https://localhost:80', 'null']) {
      expect((await post({ origin })).statusCode).toBe(403);
      for (const url of ['/api/events', '/api/health', '/login?code=c1', '/']) {
        expect((await get(url, { origin })).statusCode).toBe(403);
      }
    }
    expect((await post({ origin: 'http://localhost:80' })).statusCode).toBe(204);
  });

  it('may not be another site, also not another port of this machine', async () => {
    harness = await startHarness();
    for (const site of ['cross-site', 'same-site']) {
      for (const url of ['/api/board', '/%61pi/board', '/api/health']) {
        expect((await get(url, { 'sec-fetch-site': site })).statusCode).toBe(403);
      }
    }
    for (const site of ['same-origin', 'none']) {
      expect((await get('/api/board', { 'sec-fetch-site': site })).statusCode).toBe(200);
    }
    harness.orchestrator.loginCodes.add('c1');
    expect((await login('c1', { 'sec-fetch-site': 'cross-site' })).statusCode).toBe(303); // a link in a message
  });

  it('is told what our pages may load', async () => {
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
