import { generateKeyPairSync, sign } from 'node:crypto';
import { PageKey, proofText } from '@callboard/contract';

/** Creates a key pair as a page does. `signFor` signs a nonce for a page of that origin. */
export function createPageKey() {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { kty, crv, x, y } = publicKey.export({ format: 'jwk' });
  const signFor = (origin: string, nonce: string): string =>
    sign('sha256', Buffer.from(proofText(origin, nonce)), {
      key: privateKey,
      dsaEncoding: 'ieee-p1363',
    }).toString('base64url');
  return { key: PageKey.parse({ kty, crv, x, y }), signFor };
}
