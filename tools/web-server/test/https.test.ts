/** The web server with a certificate of its own. */
import { copyFile, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { connect as connectTls } from 'node:tls';
import { CertificateError } from '@callboard/runtime/certificate';
import { describe, expect, it, onTestFinished } from 'vitest';
import { isInstalled } from '../../../scripts/debian.ts';
import { makeCertificate } from '../../../test-support/certificates.ts';
import { askHttps, type HttpsSite, openHttps } from '../../../test-support/https-client.ts';
import { temporaryFolder } from '../../../test-support/temporary-folder.ts';
import { startWebServer } from '../src/server/app.ts';
import { createFakeOrchestrator, SECRET } from './fake-orchestrator.ts';
import { bearer, createTestLog } from './harness.ts';
import { httpsBrowser } from './log-in.ts';

const NAME = 'callboard.example.com';

/** A web server that reads its certificate every few milliseconds. */
async function start({ publicUrl = `https://${NAME}` as string | null, host = '0.0.0.0' } = {}) {
  const folder = await temporaryFolder();
  const first = await makeCertificate(folder, 'first', [NAME, 'localhost']);
  const files = { cert: `${folder}/live.pem`, key: `${folder}/live.key` };
  const install = async ({ cert, key }: typeof files) => {
    await copyFile(cert, files.cert);
    await copyFile(key, files.key);
  };
  await install(first);
  const orchestrator = createFakeOrchestrator();
  await orchestrator.start();
  onTestFinished(orchestrator.kill);
  const { log, errors } = createTestLog();
  const notices: string[] = [];
  const server = await startWebServer(
    {
      host,
      port: 0,
      orchestrator: { url: orchestrator.url(), secret: SECRET },
      exposure: { publicUrl, proxies: [], tls: files },
    },
    log,
    { certificateMs: 20, onNotice: (text) => notices.push(text) },
  );
  onTestFinished(server.stop);
  const origin = publicUrl ?? `https://localhost:${server.port}`;
  const site = (ca: Buffer): HttpsSite => ({ origin, port: server.port, ca });
  return { ...server, orchestrator, folder, first, files, install, notices, errors, site };
}

describe.skipIf(!isInstalled('openssl'))('HTTPS (needs openssl)', () => {
  it('logs in with a __Host- cookie, streams events, and says that this host speaks HTTPS only', async () => {
    const { orchestrator, first, site, errors } = await start();
    orchestrator.loginCodes.add('c1');
    const browser = httpsBrowser(site(first.ca));
    const { status, headers } = await browser.redeem('c1');
    expect(status).toBe(200);
    expect(headers.get('set-cookie')).toMatch(
      /^__Host-callboard_session_443=[^;]+; Path=\/; .*; HttpOnly; Secure; SameSite=Strict$/,
    );
    expect(headers.get('strict-transport-security')).toBe('max-age=15552000');
    const stream = await openHttps(site(first.ca), '/api/events', { headers: await browser.headers() });
    expect(stream.statusCode).toBe(200);
    let seen = '';
    stream.setEncoding('utf8').on('data', (part: string) => {
      seen += part;
    });
    await expect.poll(() => seen).toContain('event: stream');
    orchestrator.emit();
    await expect.poll(() => seen).toContain('id: 1');
    stream.destroy();
    expect(errors).toEqual([]);
  });

  it('refuses other names, other pages, and headers that name a proxy', async () => {
    const { first, site, port } = await start();
    const status = async (headers: Record<string, string>) =>
      (await askHttps(site(first.ca), '/api/board', { headers: { ...bearer, ...headers } })).status;
    expect(await status({})).toBe(200);
    expect(await status({ host: `localhost:${port}` })).toBe(200);
    for (const host of ['evil.example', `${NAME}:8443`, 'localhost'])
      expect([host, await status({ host })]).toEqual([host, 403]);
    for (const origin of [`http://${NAME}`, 'https://evil.example', `https://${NAME}:8443`])
      expect([origin, await status({ origin })]).toEqual([origin, 403]);
    expect(await status({ 'sec-fetch-site': 'same-site' })).toBe(403);
    expect(await status({ host: 'evil.example', 'x-forwarded-host': NAME, 'x-forwarded-proto': 'https' })).toBe(403);
    expect(await status({ 'x-forwarded-host': 'evil.example' })).toBe(200); // nobody is listed: it means nothing
  });

  it('speaks no plain HTTP, and no TLS before 1.2', async () => {
    const { port, first } = await start();
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write(`GET /api/health HTTP/1.1\r\nHost: ${NAME}\r\n\r\n`);
    expect(await text(socket).catch(() => '')).not.toContain('HTTP/1.1');
    const old = connectTls({
      port,
      host: '127.0.0.1',
      servername: NAME,
      ca: first.ca,
      minVersion: 'TLSv1',
      maxVersion: 'TLSv1.1',
    });
    const failed = new Promise((resolve) =>
      old.once('error', resolve).once('secureConnect', () => resolve('connected')),
    );
    expect(await failed).toBeInstanceOf(Error);
  });

  it('says nothing about other ports of the host where the board has a port of its own', async () => {
    const { first, site } = await start({ publicUrl: null, host: 'localhost' });
    const { status, headers } = await askHttps(site(first.ca), '/api/health');
    expect([status, headers.get('strict-transport-security')]).toEqual([200, null]);
  });

  it('takes a new certificate without ending a connection; one that cannot be used changes nothing and is told', async () => {
    const { orchestrator, first, folder, files, install, site, notices } = await start();
    const warnings = async (ca: Buffer) =>
      JSON.parse((await askHttps(site(ca), '/api/board', { headers: bearer })).body).warnings;
    const stream = await openHttps(site(first.ca), '/api/events', { headers: bearer });
    let seen = '';
    stream.setEncoding('utf8').on('data', (part: string) => {
      seen += part;
    });

    const second = await makeCertificate(folder, 'second', [NAME]);
    await copyFile(second.cert, files.cert); // with the key of the first one
    await expect.poll(() => notices).toHaveLength(1);
    expect(notices[0]).toMatch(
      /^The new certificate cannot be used\. --tls-key: .*live\.key is not the key of the certificate in .*live\.pem\. .* goes on with the one before, valid until \d{4}-\d\d-\d\d, and reads the files again\.$/,
    );
    expect(await warnings(first.ca)).toEqual([notices[0]]);
    await expect.poll(() => seen).toContain(JSON.stringify(notices[0]).slice(1, 80));

    await copyFile(second.key, files.key);
    await expect.poll(() => notices).toHaveLength(2);
    expect(notices[1]).toBe('The certificate can be used again.');
    await expect
      .poll(() =>
        askHttps(site(second.ca), '/api/health').then(
          ({ status }) => status,
          () => 'untrusted',
        ),
      )
      .toBe(200);
    await expect(askHttps(site(first.ca), '/api/health')).rejects.toThrow('self-signed certificate');
    expect(await warnings(second.ca)).toEqual([]);

    await writeFile(files.cert, 'half a certific');
    await expect.poll(() => notices).toHaveLength(3);
    expect(notices[2]).toContain('holds no certificate in PEM');
    expect((await askHttps(site(second.ca), '/api/health')).status).toBe(200);
    await install(second);
    await expect.poll(() => notices).toHaveLength(4);
    orchestrator.emit(); // to the stream of the first certificate, which was never cut
    await expect.poll(() => seen).toContain('id: 1');
    stream.destroy();
  });

  it.each([
    ['no certificate', 'key', 'key', '--tls-cert: .* holds no certificate in PEM'],
    ['no key', 'cert', 'cert', '--tls-key: .* holds no private key in PEM without a password'],
    ['the key of another', 'cert', 'other', '--tls-key: .* is not the key of the certificate in'],
    ['a missing file', 'cert', 'missing', '--tls-key: .* cannot be read: there is no such file'],
    ['a folder', 'folder', 'key', '--tls-cert: .* cannot be read: it is a folder'],
  ])('does not start with %s', async (_what, cert, key, text) => {
    const folder = await temporaryFolder();
    const made = await makeCertificate(folder, 'first', [NAME]);
    const other = await makeCertificate(folder, 'second', [NAME]);
    const paths: Record<string, string> = {
      cert: made.cert,
      key: made.key,
      other: other.key,
      missing: `${folder}/none`,
      folder,
    };
    const tls = { cert: paths[cert] ?? '', key: paths[key] ?? '' };
    const place = { host: '127.0.0.1', port: 0, orchestrator: { url: 'ws://127.0.0.1:9', secret: SECRET } };
    const started = startWebServer({ ...place, exposure: { publicUrl: null, proxies: [], tls } }, createTestLog().log);
    await expect(started).rejects.toThrow(CertificateError);
    await expect(started).rejects.toThrow(new RegExp(text));
  });
});
