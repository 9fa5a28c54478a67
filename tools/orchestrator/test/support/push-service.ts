import { createDecipheriv, createECDH, createHash, createPublicKey, hkdfSync, verify } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import { createServer } from 'node:https';
import { PushMessage, type PushSubscriptionBody } from '@callboard/contract';
import { onTestFinished } from 'vitest';
import { z } from 'zod';

/** A certificate for localhost that only tests trust, with its key. */
export const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBnDCCAUGgAwIBAgIURMqsaLGJmk9vI0QmtscsjmPkIREwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyNDAwMzMxNVoYDzIwNjUwMzI0
MDAzMzE1WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAASPPXama1pXAbaenXtMpFuoKpcXoYmVwrwu/S+gYTlh+8ibxPrQaz+a
OIRjlI8VWYMQ/c00EOUS+7fFg56h0qmxo28wbTAdBgNVHQ4EFgQU4v+KxIcqfbOB
f6Gwbh84AZEdPKswHwYDVR0jBBgwFoAU4v+KxIcqfbOBf6Gwbh84AZEdPKswDwYD
VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI
zj0EAwIDSQAwRgIhAMLJibRMDL3LcGvkVT12F4ZYpFja+IAs87p2Tg/i1FFKAiEA
uzL8jx29R/0qgApqla50IBZbtnoVRXHGlfgpEzEvuac=
-----END CERTIFICATE-----
`;
const KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgK4acgWDSv7AvJQ6Z
4mxfu+RQhOdWOQCfkoTtx9QwtSChRANCAASPPXama1pXAbaenXtMpFuoKpcXoYmV
wrwu/S+gYTlh+8ibxPrQaz+aOIRjlI8VWYMQ/c00EOUS+7fFg56h0qmx
-----END PRIVATE KEY-----
`;

/** What the push service answers to the next messages; the last one repeats. */
export interface PushAnswer {
  status: number;
  headers?: Record<string, string>;
  text?: string;
}

export interface Received {
  path: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** A push service behind TLS, on this machine. */
export interface PushService {
  origin: string;
  received: Received[];
  /** `nothing`: the connection stays open without an answer. */
  answer(...answers: (PushAnswer | 'nothing')[]): void;
}

export async function startPushService(): Promise<PushService> {
  const received: Received[] = [];
  let answers: (PushAnswer | 'nothing')[] = [{ status: 201 }];
  const server = createServer({ cert: CERTIFICATE, key: KEY }, (request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      received.push({ path: request.url ?? '', headers: request.headers, body: Buffer.concat(parts) });
      const [answer = { status: 500 }] = answers;
      if (answers.length > 1) answers = answers.slice(1);
      if (answer !== 'nothing') response.writeHead(answer.status, answer.headers).end(answer.text);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = z.object({ port: z.number() }).parse(server.address());
  return {
    origin: `https://localhost:${port}`,
    received,
    answer(...next) {
      answers = next;
    },
  };
}

/** A browser with its keys: subscribes at a push service, and decrypts what it is sent. */
export function createTestBrowser({ origin }: Pick<PushService, 'origin'>, path = '/send/1') {
  const pair = createECDH('prime256v1');
  pair.generateKeys();
  const secret = Buffer.from('0123456789abcdef');
  const keys = { p256dh: pair.getPublicKey('base64url'), auth: secret.toString('base64url') };
  const subscription: PushSubscriptionBody = { endpoint: `${origin}${path}`, keys };

  /** RFC 8291 on top of RFC 8188, written from the standard: one record of `aes128gcm`. */
  function decrypt({ body }: Pick<Received, 'body'>): PushMessage {
    const [salt, idLength] = [body.subarray(0, 16), body.readUInt8(20)];
    const sender = body.subarray(21, 21 + idLength);
    const sealed = body.subarray(21 + idLength);
    const info = Buffer.concat([Buffer.from('WebPush: info\0'), pair.getPublicKey(), sender]);
    const shared = Buffer.from(hkdfSync('sha256', pair.computeSecret(sender), secret, info, 32));
    const derive = (name: string, length: number) =>
      Buffer.from(hkdfSync('sha256', shared, salt, Buffer.from(`Content-Encoding: ${name}\0`), length));
    const cipher = createDecipheriv('aes-128-gcm', derive('aes128gcm', 16), derive('nonce', 12));
    cipher.setAuthTag(sealed.subarray(-16));
    const padded = Buffer.concat([cipher.update(sealed.subarray(0, -16)), cipher.final()]);
    const text = padded.subarray(0, padded.lastIndexOf(2)).toString();
    return PushMessage.parse(JSON.parse(text));
  }
  return { subscription, decrypt };
}

const Claims = z.object({ aud: z.string(), exp: z.number(), sub: z.string() });

/** Verifies the signature of a message (RFC 8292). @returns its claims, and the public key that signed */
export function readVapid({ headers }: Pick<Received, 'headers'>) {
  const found = /^vapid t=([^.]+)\.([^.]+)\.([^,]+), ?k=(.+)$/i.exec(headers.authorization ?? '');
  const [, head = '', claims = '', signature = '', k = ''] = found ?? [];
  const point = Buffer.from(k, 'base64url');
  const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((part) => part.toString('base64url'));
  const key = createPublicKey({ format: 'jwk', key: { kty: 'EC', crv: 'P-256', x: x ?? '', y: y ?? '' } });
  const isGood = verify(
    'sha256',
    Buffer.from(`${head}.${claims}`),
    { key, dsaEncoding: 'ieee-p1363' },
    Buffer.from(signature, 'base64url'),
  );
  if (!isGood) throw new Error('the signature is wrong');
  return { ...Claims.parse(JSON.parse(Buffer.from(claims, 'base64url').toString())), publicKey: k };
}

/** The topic of a tag: a later message replaces what the push service still holds. */
export const topicOf = (tag: string): string => createHash('sha256').update(tag).digest('base64url').slice(0, 32);
