import { connect } from 'node:net';
import { PAGE_HEADER } from '@callboard/contract';
import { afterEach, expect, it } from 'vitest';
import { Refusal } from './fake-orchestrator.ts';
import { bearer, type Harness, startHarness } from './harness.ts';
import { newBrowser } from './log-in.ts';

const harnesses: Harness[] = [];
afterEach(async () => {
  for (const harness of harnesses.splice(0)) await harness.stop();
});

async function start(...options: Parameters<typeof startHarness>): Promise<Harness> {
  const harness = await startHarness(...options);
  harnesses.push(harness);
  return harness;
}

it('keeps the logins of two Callboards on one host apart', async () => {
  const cookies = new Map<string, string>(); // a browser's cookies for 127.0.0.1, whatever the port
  const logins = [await start(), await start()].map(async ({ orchestrator, listen }) => {
    orchestrator.loginCodes.add('c1');
    const origin = await listen();
    const browser = newBrowser(origin);
    await browser.redeem('c1');
    const [name = '', value = ''] = browser.cookie().split('=');
    expect(name).toBe(`callboard_session_${new URL(origin).port}`);
    cookies.set(name, value);
    return { origin, headers: await browser.headers() };
  });
  const pages = await Promise.all(logins);
  const cookie = [...cookies].map((pair) => pair.join('=')).join('; ');
  for (const { origin, headers } of pages) {
    expect((await fetch(`${origin}/api/board`, { headers: { ...headers, cookie } })).status).toBe(200);
  }
});

it('never logs a login code, a cookie or a token, whatever happens', async () => {
  const { app, orchestrator, logged, listen, errors } = await start({ logLevel: 'trace' });
  const secrets = ['code-5ecret', 'login-from-code-5ecret', 'token-5ecret', 'cookie-5ecret', 'forged-5ecret'];
  orchestrator.logins.set('token-5ecret', 'Ann').set('cookie-5ecret', 'Ann');
  orchestrator.handlers.get_diff = () => {
    throw new Refusal('unknown_stage', 'There is no stage x.');
  };
  const browser = newBrowser({ app });
  orchestrator.loginCodes.add('code-5ecret');
  expect((await browser.redeem('code-5ecret')).status).toBe(200);
  const page = await browser.headers();
  secrets.push(String(page[PAGE_HEADER]));
  expect((await app.inject({ url: '/api/board', headers: page })).statusCode).toBe(200);
  const other = newBrowser({ app });
  expect((await other.redeem('code-5ecret')).status).toBe(401); // used
  expect((await other.redeem('code-5ecret', { host: 'evil.example' })).status).toBe(403);
  expect((await other.redeem(`code-5ecret${'x'.repeat(600)}`)).status).toBe(400);
  expect((await app.inject({ method: 'POST', url: '/login?code=code-5ecret' })).statusCode).toBe(404);
  expect((await app.inject({ url: '/api/login?code=code-5ecret' })).statusCode).toBe(404);
  orchestrator.handlers.auth_redeem = () => JSON.parse('{"secret":"login-from-code-5ecret"}'); // breaks the contract
  expect((await other.redeem('code-5ecret')).status).toBe(500);
  for (const headers of [
    { authorization: 'Bearer token-5ecret' },
    { cookie: 'callboard_session_80=cookie-5ecret' },
    { authorization: 'Bearer forged-5ecret' },
  ]) {
    await app.inject({ url: '/api/board', headers });
    await app.inject({ url: '/api/stages/x/diff', headers });
    await app.inject({ method: 'POST', url: '/api/logout', headers });
  }
  orchestrator.logins.set('forged-5ecret', 'Ann');
  orchestrator.handlers.auth_check = () => JSON.parse('{"actor":"forged-5ecret"}');
  expect((await app.inject({ url: '/api/board', headers: { authorization: 'Bearer forged-5ecret' } })).statusCode).toBe(
    500,
  );
  const origin = await listen();
  await fetch(`${origin}/api/events`, { headers: { authorization: 'Bearer forged-5ecret' } });
  await orchestrator.kill();
  await expect.poll(async () => (await newBrowser(origin).redeem('code-5ecret')).status).toBe(503);

  expect(logged.join('')).toContain('a request failed');
  for (const secret of secrets) expect(logged.join('')).not.toContain(secret);
  errors.length = 0;
});

it('answers a request that is not valid HTTP, and logs nothing of it', async () => {
  const { listen, logged } = await start({ logLevel: 'trace' });
  const { hostname, port } = new URL(await listen());
  const before = logged.length;
  for (const [request, text] of [
    ['NONSENSE token-5ecret\r\n\r\n', 'not a valid HTTP request'],
    [`GET / HTTP/1.1\r\nAuthorization: Bearer token-5ecret${'x'.repeat(20_000)}\r\n\r\n`, 'too large'],
  ] as const) {
    const socket = connect(Number(port), hostname).setEncoding('utf8');
    socket.write(request);
    const answer = (await socket.toArray()).join('');
    expect(answer).toContain('HTTP/1.1 400 Bad Request');
    expect(answer).toContain('"code":"bad_request"');
    expect(answer).toContain(text);
  }
  expect(logged.slice(before)).toEqual([]);
});

it('makes clients that guess wait, and nobody else', async () => {
  let now = 0;
  const { app, orchestrator } = await start({ requestsPerSecond: 10, now: () => now });
  const statusWith = async (token: string, url = '/api/board') =>
    (await app.inject({ url, headers: { authorization: `Bearer ${token}` } })).statusCode;
  const known = bearer.authorization.replace('Bearer ', '');
  expect(await statusWith(known)).toBe(200);
  for (let i = 0; i < 9; i++) expect(await statusWith(`guess-${i}`)).toBe(401);
  expect(await statusWith('guess-10')).toBe(429);
  expect(await statusWith('guess-11', '/api/health')).toBe(200); // tells a stranger nothing more
  expect(await statusWith(known)).toBe(200);
  expect(orchestrator.inputsOf('auth_check')).toHaveLength(10);
  now = 1_000;
  expect(await statusWith('guess-12')).toBe(401);
});

it('reveals nothing to other sites, and lets no page frame it or guess its types', async () => {
  const { app } = await start();
  for (const url of ['/api/board', '/api/decisions?format=csv', '/login?code=x', '/']) {
    const { headers } = await app.inject({ url });
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'cross-origin-resource-policy': 'same-origin',
      'cross-origin-opener-policy': 'same-origin',
      'referrer-policy': 'same-origin',
    });
    expect(headers['access-control-allow-origin']).toBeUndefined();
  }
});
