import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isInstalled } from '../../../../scripts/debian.ts';
import { makeCertificate } from '../../../../test-support/certificates.ts';
import { temporaryFolder } from '../../../../test-support/temporary-folder.ts';
import { checkExposure } from './machine-checks.ts';

const NOW = new Date('2026-01-02T12:00:00.000Z');
const none = { publicUrl: null, proxies: [], tls: null };
const check = (host: string, exposure: object, now = NOW) =>
  checkExposure({ host, port: 3100, exposure: { ...none, ...exposure } }, now);

it('says how other machines reach the board', async () => {
  const publicUrl = 'https://callboard.example.com';
  expect(await check('127.0.0.1', {})).toEqual({
    verdict: 'ok',
    found: 'none: the board listens on this machine only',
    advice: null,
  });
  expect(await check('127.0.0.1', { publicUrl, proxies: ['127.0.0.1', '10.0.0.0/8'] })).toMatchObject({
    verdict: 'ok',
    found: `${publicUrl}, through the proxy at 127.0.0.1, 10.0.0.0/8`,
  });
  expect(await check('127.0.0.1', { publicUrl: 'http://localhost:8100' })).toMatchObject({
    verdict: 'ok',
    found: 'http://localhost:8100, through a tunnel',
  });
});

describe.skipIf(!isInstalled('openssl'))('with a certificate (needs openssl)', () => {
  const DAY_MS = 24 * 3_600_000;

  it('says how long it is valid, warns two weeks before the end, and calls an old one a problem', async () => {
    const tls = await makeCertificate(await temporaryFolder(), 'own', ['callboard.example.com']); // for 30 days
    const inDays = (days: number) =>
      check('192.0.2.1', { tls, publicUrl: 'https://callboard.example.com' }, new Date(Date.now() + days * DAY_MS));
    const valid = /^https:\/\/callboard\.example\.com, with a certificate that is valid until \d{4}-\d\d-\d\d$/;
    expect(await inDays(0)).toEqual({ verdict: 'ok', found: expect.stringMatching(valid), advice: null });
    expect(await inDays(15)).toMatchObject({ verdict: 'ok' });
    const renew = { advice: expect.stringContaining('Renew the certificate') };
    expect(await inDays(17)).toMatchObject({ verdict: 'warning', found: expect.stringMatching(valid), ...renew });
    const over = expect.stringMatching(/own\.pem was valid until \d{4}-\d\d-\d\d$/);
    expect(await inDays(31)).toMatchObject({ verdict: 'problem', found: over, ...renew });
  });

  it('names what is wrong with the files', async () => {
    const folder = await temporaryFolder();
    const { cert, key } = await makeCertificate(folder, 'own', ['callboard.example.com']);
    await writeFile(join(folder, 'half.pem'), '-----BEGIN CERT');
    const foundFor = async (tls: object) => (await check('192.0.2.1', { tls })).found;
    expect(await foundFor({ cert: join(folder, 'none.pem'), key })).toContain('cannot be read: there is no such file');
    expect(await foundFor({ cert: join(folder, 'half.pem'), key })).toContain('holds no certificate in PEM');
    expect(await check('192.0.2.1', { tls: { cert, key: cert } })).toMatchObject({
      verdict: 'problem',
      found: expect.stringContaining('holds no private key in PEM'),
      advice: 'Name a certificate and its key in PEM',
    });
  });
});
