import { generateKeyPairSync, sign } from 'node:crypto';
import { PageKey, proofText } from '@callboard/contract';

export const ORIGIN = 'http://127.0.0.1:3100';

/** What a browser says of itself at its login. */
export function newBrowser() {
  const { key } = newKey();
  return { key, origin: ORIGIN, browser: 'Firefox on Linux' };
}

/** A key as a browser makes it, and what it signs for a page of an origin. */
export function newKey() {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { kty, crv, x, y } = publicKey.export({ format: 'jwk' });
  const signFor = (origin: string, nonce: string): string =>
    sign('sha256', Buffer.from(proofText(origin, nonce)), {
      key: privateKey,
      dsaEncoding: 'ieee-p1363',
    }).toString('base64url');
  return { key: PageKey.parse({ kty, crv, x, y }), signFor };
}
