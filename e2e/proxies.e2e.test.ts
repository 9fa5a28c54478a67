/** Callboard behind the proxies that the page on phones names, and behind a forwarded port. */
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { Login, type StageView, WORKER_PATH } from '@callboard/contract';
import { prompt } from '@callboard/scripted-model';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { isInstalled } from '../scripts/debian.ts';
import { makeCertificate } from '../test-support/certificates.ts';
import { freePort } from '../test-support/free-port.ts';
import { askHttps, type HttpsSite, openHttps } from '../test-support/https-client.ts';
import { ALL } from '../test-support/variants.ts';
import { httpsBrowser } from '../tools/web-server/test/log-in.ts';
import { callApi } from './support/api.ts';
import { openBrowser } from './support/browser.ts';
import { type Installation, install } from './support/callboard.ts';
import { logInAsPage } from './support/page-login.ts';
import { killPart } from './support/processes.ts';
import { startProxy } from './support/proxies.ts';

const hasNginx = isInstalled('nginx') && isInstalled('openssl');
const hasCaddy = isInstalled('caddy');

/** Chromium looks for names under `localhost` on this machine. */
const NAME = 'callboard.localhost';
/** What a client claims to be. */
const FORGED = '203.0.113.9';
const FORGED_HEADERS = {
  'x-forwarded-for': FORGED,
  'x-forwarded-host': 'evil.example',
  'x-forwarded-proto': 'http',
  'x-real-ip': FORGED,
  forwarded: `for=${FORGED};host=evil.example;proto=http`,
};
/** An address of this machine that is no loopback address: what uses it looks like another machine to the proxy. */
const elsewhere = Object.values(networkInterfaces())
  .flat()
  .find((each) => each?.family === 'IPv4' && !each.internal)?.address;

const codeOf = (link: string) => new URL(link).searchParams.get('code') ?? '';
const asking = (title: string) =>
  prompt({ steps: [{ tools: [{ name: 'Bash', input: { command: 'touch a', description: 'Do it' } }] }] }, title);

describe.skipIf(!hasNginx && !hasCaddy)('behind a proxy', () => {
  const ends: (() => void | Promise<void>)[] = [];
  const atEnd = (end: () => void | Promise<void>) => void ends.unshift(end);
  const ports = { callboard: 0, nginx: 0, caddy: 0 };
  let publicUrl = '';
  let tries = 0;
  let installation: Installation;

  beforeAll(async () => {
    Object.assign(ports, { callboard: await freePort(), nginx: await freePort(), caddy: await freePort() });
    publicUrl = `https://${NAME}:${ports.caddy}`;
    installation = await install({}, atEnd, true);
    const options = ['--behind-proxy', '127.0.0.1', '--public-url', publicUrl];
    const { stop } = await installation.start(ports.callboard, undefined, options);
    atEnd(stop);
  });
  afterAll(async () => {
    for (const end of ends) await end();
  });

  /** A new login link; it names the public URL. */
  const newLink = async () => (await installation.command('link')).output.trim();
  const start = (name: 'nginx' | 'caddy') =>
    startProxy(
      name,
      {
        folder: join(installation.folder, name),
        publicUrl,
        port: ports[name],
        callboardPorts: [ports.callboard],
      },
      onTestFinished,
    );

  /** A page of a browser that has logged in through a proxy. */
  async function openPage(site: HttpsSite) {
    const browser = httpsBrowser(site);
    const link = await newLink();
    expect(link).toMatch(`${publicUrl}/login?code=`);
    const { status, headers } = await browser.redeem(codeOf(link), FORGED_HEADERS);
    expect([status, headers.getSetCookie()]).toEqual([
      200,
      [expect.stringMatching(/^__Host-callboard_session_\d+=[^;]+; Path=\/; .*HttpOnly; Secure; SameSite=Strict$/)],
    ]);
    const own = { origin: publicUrl, ...(await browser.headers()) };
    const json = { 'content-type': 'application/json' };
    return {
      headers: own,
      async send(method: string, path: string, body?: object) {
        const sent = { method, headers: { ...own, ...(body && json) }, ...(body && { body: JSON.stringify(body) }) };
        const answer = await askHttps(site, path, sent);
        if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.body}`);
        return JSON.parse(answer.body);
      },
    };
  }

  /** The worker and the manifest arrive as Callboard sends them, fresh at each look; another program's worker is ended. */
  async function canBeInstalled(site: HttpsSite) {
    const script = { headers: { 'service-worker': 'script' } };
    const worker = await askHttps(site, WORKER_PATH, script);
    expect([worker.status, worker.headers.get('cache-control')]).toEqual([200, 'no-cache']);
    expect(worker.headers.get('content-type')).toMatch(/^(text|application)\/javascript/);
    expect(worker.body).toContain('notificationclick');
    expect((await askHttps(site, '/worker.js', script)).body).toContain('registration.unregister()');
    const manifest = await askHttps(site, '/manifest.webmanifest');
    expect(manifest.headers.get('content-type')).toMatch(/^application\/manifest\+json/);
    expect(JSON.parse(manifest.body)).toMatchObject({ scope: '.', display: 'standalone' });
  }

  async function worksThrough(site: HttpsSite) {
    await canBeInstalled(site);
    const page = await openPage(site);
    const { logins, current } = await page.send('GET', '/api/logins');
    const login = Login.array()
      .parse(logins)
      .find(({ loginId }) => loginId === current);
    // The address is the one that the proxy saw, whatever the client claims.
    expect(login?.browser).toBe(elsewhere === undefined ? 'A browser' : `A browser (${elsewhere})`);

    const text = 'A line of a long log.\n'.repeat(200_000);
    const log = { name: 'build.log', mediaType: 'text/plain', dataBase64: Buffer.from(text).toString('base64') };
    const body = { projectId: 'shop', title: 'Login form', prompt: asking('Login form'), attachments: [log] };
    const { stage }: { stage: StageView } = await page.send('POST', '/api/stages', body);
    expect(stage.attachments).toMatchObject([{ name: 'build.log', size: text.length }]);
    const [file] = stage.attachments;
    const saved = await page.send('GET', `/api/stages/${stage.id}/attachments/${file?.fileId}`);
    expect(saved.file.dataBase64 === log.dataBase64).toBe(true); // megabytes would be shown as a difference
    await page.send('PATCH', `/api/stages/${stage.id}`, { attachments: [], files: [] });

    const stream = await openHttps(site, '/api/events', { headers: page.headers });
    onTestFinished(() => void stream.destroy());
    let seen = '';
    stream.setEncoding('utf8').on('data', (part: string) => {
      seen += part;
    });
    await expect.poll(() => seen).toContain('event: notices-updated');
    const delays: number[] = [];
    for (const title of ['First title', 'Second title', 'Third title']) {
      const before = performance.now();
      await page.send('PATCH', `/api/stages/${stage.id}`, { title });
      await expect.poll(() => seen, { interval: 10 }).toContain(title);
      delays.push(performance.now() - before);
    }
    expect(Math.min(...delays)).toBeLessThan(1_000); // the others may have waited for the processor
    expect(stream.complete).toBe(false);

    await page.send('POST', `/api/stages/${stage.id}/start`);
    await expect.poll(() => seen).toContain('event: approval-requested');
    const { pending } = await page.send('GET', `/api/sessions/${stage.id}/pending`);
    const answer = { requestId: pending[0]?.requestId, decision: 'allow' };
    await page.send('POST', `/api/sessions/${stage.id}/approve`, answer);
    const column = async () =>
      (await page.send('GET', '/api/board')).stages.find(({ id }: StageView) => id === stage.id)?.column;
    await expect.poll(column).toBe('review');
  }

  // Caddy represents both, where it is installed; `balancer` is about nginx.
  if (!hasCaddy || ALL)
    it.skipIf(!hasNginx)('works through nginx (needs nginx and openssl)', async () => {
      await worksThrough({ ...(await start('nginx')), ...(elsewhere && { from: elsewhere }) });
    });

  it.skipIf(!hasCaddy)('works through Caddy, also in Chromium (needs caddy)', async () => {
    const site = await start('caddy');
    await worksThrough({ ...site, ...(elsewhere && { from: elsewhere }) });

    const { page, context } = await openBrowser({ trustsAll: true, hasWorker: true, width: 1440, height: 900 });
    await page.goto(await newLink());
    await page.getByRole('region', { name: 'Backlog' }).waitFor();
    expect(page.url()).toBe(`${publicUrl}/`);
    const cookies = (await context.cookies()).filter(({ name }) => name.includes('session'));
    expect(cookies).toMatchObject([{ name: expect.stringMatching(/^__Host-/), secure: true, httpOnly: true }]);
    // The worker takes over the page that has registered it, and then loads its pages.
    const worker = () => page.evaluate(() => navigator.serviceWorker.controller?.scriptURL);
    await expect.poll(worker).toBe(`${publicUrl}${WORKER_PATH}`);
    await page.reload();
    await page.getByRole('region', { name: 'Backlog' }).waitFor();
    expect(await worker()).toBe(`${publicUrl}${WORKER_PATH}`);
    const local = `http://127.0.0.1:${ports.callboard}`;
    tries += 1;
    const title = `Search index ${tries}`; // the stage of a first try is still on the board
    const made = { projectId: 'shop', title, prompt: asking(title) };
    const { stage } = await (await callApi(local, 'POST', '/api/stages', made)).json();
    await callApi(local, 'POST', `/api/stages/${stage.id}/start`);
    const request = page.getByRole('dialog', { name: `${title}: Run this command?` });
    await request.getByRole('button', { name: 'Allow', exact: true }).click();
    await page.getByRole('region', { name: 'Review' }).getByText(title).waitFor();

    await page.getByRole('button', { name: 'Account' }).click();
    await page.getByRole('menuitem', { name: 'Logins' }).click();
    await page.getByRole('button', { name: 'Add a device' }).click();
    await page.getByRole('img', { name: 'QR code of the login link' }).waitFor();
    await page.getByText(`${publicUrl}/login?code=`).waitFor();
    const shoot = async (width: number, colorScheme: 'light' | 'dark') => {
      await page.setViewportSize({ width, height: 900 });
      await page.emulateMedia({ colorScheme });
      const folder = process.env.CALLBOARD_SHOTS;
      if (folder !== undefined) await page.screenshot({ path: join(folder, `add-a-device-${width}.png`) });
    };
    await shoot(1440, 'light');
    await shoot(390, 'dark');
  });
});

it.runIf(ALL && isInstalled('openssl'))(
  'starts again by itself once its certificate is mended (needs openssl)',
  async () => {
    const { folder, start, command } = await install({}, onTestFinished, true);
    const port = await freePort();
    const { cert, key, ca } = await makeCertificate(folder, 'own', ['localhost']);
    const options = ['--tls-cert', cert, '--tls-key', key, '--public-url', `https://localhost:${port}`];
    const { supervisor, stop } = await start(port, undefined, options);
    onTestFinished(stop);
    let said = '';
    supervisor.stderr?.on('data', (text) => {
      said += String(text);
    });
    const site = { origin: `https://localhost:${port}`, port, ca };
    expect((await askHttps(site, '/api/health')).status).toBe(200);

    const whole = await readFile(cert);
    await writeFile(cert, whole.subarray(0, 100));
    await killPart(supervisor.pid, 'web server');
    const cause = `the web server cannot start again: --tls-cert: ${cert} holds no certificate in PEM`;
    await expect.poll(() => said).toContain(cause);
    expect(await command('link')).toMatchObject({ code: 1, output: expect.stringContaining(cause) });
    const { output } = await command('doctor', '--no-handshake', '--port', String(port));
    expect(output).toContain(`but ${cause}`);
    await expect(askHttps(site, '/api/health')).rejects.toThrow();

    await writeFile(cert, whole);
    await expect.poll(() => said).toContain('the web server is up again');
    expect((await askHttps(site, '/api/health')).status).toBe(200);
    expect(await command('link')).toMatchObject({
      code: 0,
      output: expect.stringContaining(`${site.origin}/login?code=`),
    });
  },
);

it('works through a port that is forwarded, as SSH does it', async () => {
  const [own, forwarded] = [await freePort(), await freePort()];
  const tunnel = createServer((socket) => {
    const target = connect(own, '127.0.0.1');
    socket.on('error', () => target.destroy()).pipe(target);
    target.on('error', () => socket.destroy()).pipe(socket);
  }).listen(forwarded, '127.0.0.1');
  await once(tunnel, 'listening');
  onTestFinished(() => void tunnel.close());
  const { start } = await install({}, onTestFinished, true);
  const url = `http://localhost:${forwarded}`;
  const { loginLink, stop } = await start(own, undefined, ['--public-url', url]);
  onTestFinished(stop);
  expect(loginLink).toMatch(`${url}/login?code=`);
  const login = await logInAsPage(loginLink);
  const headers = { origin: url, ...login };
  expect(login.cookie).toContain(`callboard_session_${forwarded}=`);

  const stream = await fetch(`${url}/api/events`, { headers });
  const made = { projectId: 'shop', title: 'Through the tunnel', prompt: 'Do it' };
  const sent = { method: 'POST', headers: { ...headers, 'content-type': 'application/json' } };
  expect((await fetch(`${url}/api/stages`, { ...sent, body: JSON.stringify(made) })).status).toBe(201);
  let seen = '';
  for await (const part of stream.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    seen += part;
    if (seen.includes('Through the tunnel')) break;
  }
  expect(seen).toContain('event: stage-created');
});
