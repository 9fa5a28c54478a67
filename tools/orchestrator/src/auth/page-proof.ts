import { createPublicKey, verify } from 'node:crypto';
import { type PageKey, proofText } from '@callboard/contract';
import { Rejection } from '../lib/errors.ts';

const publicKey = (key: PageKey) => createPublicKey({ key: { ...key }, format: 'jwk' });

/** @throws Rejection `bad_request` if the key is not a point on the curve: nobody could ever prove such a login */
export function requirePageKey(key: PageKey): void {
  try {
    publicKey(key);
  } catch {
    throw new Rejection('bad_request', 'key: is not a public key on the curve P-256.');
  }
}

/** Whether the private half of this key has signed the nonce for a page of this origin. */
export function isProof(key: PageKey, origin: string, nonce: string, signature: string): boolean {
  const signed = Buffer.from(proofText(origin, nonce));
  const given = Buffer.from(signature, 'base64url');
  return verify('sha256', signed, { key: publicKey(key), dsaEncoding: 'ieee-p1363' }, given);
}
