import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync, brotliDecompressSync, gzipSync } from 'node:zlib';
import { WORKER_PATH } from '@callboard/contract';
import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest';
import { type Harness, startHarness } from '../../test/harness.ts';

let harness: Harness;
let clientDir: string;
beforeEach(async () => {
  clientDir = await mkdtemp(join(tmpdir(), 'callboard-client-'));
  harness = await startHarness({ clientDir });
});
afterEach(async () => {
  await harness.stop();
  await rm(clientDir, { recursive: true });
});

const page = { accept: 'text/html,application/xhtml+xml' };

async function build(): Promise<void> {
  await mkdir(join(clientDir, 'assets'));
  await writeFile(join(clientDir, 'index.html'), '<!doctype html><title>Callboard</title>');
  await writeFile(join(clientDir, 'assets', 'app-1a2b3c.js'), 'export {};');
  await writeFile(join(clientDir, '.hidden'), 'no');
}

it('serves the client without a login: revalidates pages, caches hashed files for ever', async () => {
  await build();
  for (const url of ['/', '/index.html', '/stages/STAGE-1?tab=diff']) {
    const response = await harness.app.inject({ url, headers: page });
    expect([response.statusCode, response.headers['cache-control']]).toEqual([200, 'no-cache']);
    expect(response.body).toContain('<title>Callboard</title>');
  }
  const asset = await harness.app.inject({ url: '/assets/app-1a2b3c.js' });
  expect(asset.headers['cache-control']).toBe('public, max-age=31536000, immutable');
  expect(asset.headers['content-type']).toMatch(/javascript/);
});

it('does not send a page if none was requested', async () => {
  await build();
  for (const request of [
    { url: '/assets/gone-9f8e7d.js', headers: page },
    { url: '/missing.png', headers: { accept: 'image/*' } },
    { url: '/stages', method: 'POST' as const, headers: page },
    { url: '/.hidden' },
  ]) {
    const response = await harness.app.inject(request);
    expect([request.url, response.statusCode, response.headers['content-type']]).toEqual([
      request.url,
      404,
      'text/plain',
    ]);
  }
});

it('serves nothing outside its folder', async () => {
  await build();
  for (const url of ['/../package.json', '/%2e%2e/package.json', '/assets/..%2f..%2fpackage.json']) {
    const response = await harness.app.inject({ url });
    expect(response.statusCode).toBeGreaterThanOrEqual(400);
  }
});

it('says what to do when the client is not built, and serves it once it is', async () => {
  const missing = await harness.app.inject({ url: '/', headers: page });
  expect([missing.statusCode, missing.body]).toEqual([
    500,
    'The client is not built; run npm install (or npm run build).\n',
  ]);
  await build();
  expect((await harness.app.inject({ url: '/', headers: page })).statusCode).toBe(200);
});

it('sends the compressed copy of a file to a browser that takes it, with the same type and the same caching', async () => {
  await build();
  await writeFile(join(clientDir, 'index.html.br'), brotliCompressSync('<!doctype html><title>Callboard</title>'));
  await writeFile(join(clientDir, 'assets', 'app-1a2b3c.js.br'), brotliCompressSync('export {};'));
  await writeFile(join(clientDir, 'assets', 'app-1a2b3c.js.gz'), gzipSync('export {};'));
  const get = (url: string, encoding: string) =>
    harness.app.inject({ url, headers: { ...page, 'accept-encoding': encoding } });
  for (const url of ['/', '/stages/STAGE-1']) {
    const response = await get(url, 'gzip, br');
    expect([response.headers['content-encoding'], response.headers['cache-control']]).toEqual(['br', 'no-cache']);
    expect(response.headers['content-type']).toMatch(/text\/html/);
    expect(String(brotliDecompressSync(response.rawPayload))).toContain('<title>Callboard</title>');
  }
  for (const [encoding, sent] of [
    ['gzip, br', 'br'],
    ['gzip', 'gzip'],
    ['identity', undefined],
  ] as const) {
    const { headers } = await get('/assets/app-1a2b3c.js', encoding);
    expect([headers['content-encoding'], headers.vary, headers['cache-control']]).toEqual([
      sent,
      expect.stringMatching(/accept-encoding/i),
      'public, max-age=31536000, immutable',
    ]);
    expect(headers['content-type']).toMatch(/javascript/);
  }
});

it('serves the service worker under one name, asked for again each time, and ends every other one', async () => {
  await build();
  await writeFile(join(clientDir, 'sw.js'), 'self.callboard = true;');
  await writeFile(join(clientDir, 'manifest.webmanifest'), '{}');
  const asWorker = { 'service-worker': 'script' };
  const own = await harness.app.inject({ url: WORKER_PATH, headers: asWorker });
  expect([own.statusCode, own.body, own.headers['cache-control']]).toEqual([200, 'self.callboard = true;', 'no-cache']);
  expect(own.headers['content-type']).toMatch(/javascript/);
  expect(own.headers['content-security-policy']).toMatch(/script-src 'self'(;|$)/);
  for (const url of ['/sw.js', '/worker.js', `${WORKER_PATH}&more`]) {
    const other = await harness.app.inject({ url, headers: asWorker });
    expect([url, other.body.includes('unregister()'), other.headers['cache-control']]).toEqual([url, true, 'no-store']);
  }
  const manifest = await harness.app.inject({ url: '/manifest.webmanifest' });
  expect(manifest.headers['content-type']).toMatch(/^application\/manifest\+json/);
});

it('below a path: tells the pages, and answers with and without the path', async () => {
  const exposure = { publicUrl: 'http://localhost:80/board', proxies: [], tls: null };
  const below = await startHarness({ clientDir, exposure });
  onTestFinished(below.stop);
  await build();
  const html = '<!doctype html><head><title>Callboard</title></head><script src="/assets/app-1a2b3c.js"></script>';
  await writeFile(join(clientDir, 'index.html'), html);
  for (const url of ['/board', '/board/', '/board/stages/STAGE-1?tab=diff', '/', '/inbox', '/board/index.html']) {
    const { statusCode, body } = await below.app.inject({ url, headers: page });
    expect([url, statusCode]).toEqual([url, 200]);
    expect(body).toContain('<meta name="base-path" content="/board" />');
    expect(body).toContain('src="/board/assets/app-1a2b3c.js"');
  }
  for (const url of ['/board/assets/app-1a2b3c.js', '/assets/app-1a2b3c.js', '/board/api/health', '/api/health'])
    expect([url, (await below.app.inject({ url })).statusCode]).toEqual([url, 200]);
  // Another path that begins with the same letters.
  expect((await below.app.inject({ url: '/boards/assets/app-1a2b3c.js' })).statusCode).toBe(404);
});
