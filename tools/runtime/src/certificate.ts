import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import { messageOf, systemCode } from './errors.ts';

/** Absolute paths of a certificate, with its chain, and of its key, both in PEM. */
export interface CertificateFiles {
  readonly cert: string;
  readonly key: string;
}

/** A certificate and its key, which fit together. */
export interface CertificatePair {
  readonly cert: Buffer;
  readonly key: Buffer;
  readonly validUntil: Date;
}

/** A certificate that cannot be used. The message names the file, the cause and the next step. */
export class CertificateError extends Error {
  override readonly name = 'CertificateError';
}

/** Reads a certificate and its key. @throws CertificateError if a file cannot be read, or the two cannot be used */
export async function readCertificate({ cert, key }: CertificateFiles): Promise<CertificatePair> {
  const [certText, keyText] = [await read('--tls-cert', cert), await read('--tls-key', key)];
  const x509 = attempt(() => new X509Certificate(certText), `--tls-cert: ${cert} holds no certificate in PEM`);
  const privateKey = attempt(
    () => createPrivateKey(keyText),
    `--tls-key: ${key} holds no private key in PEM without a password`,
  );
  if (!x509.checkPrivateKey(privateKey))
    throw new CertificateError(
      `--tls-key: ${key} is not the key of the certificate in ${cert}. Name the two that belong together.`,
    );
  attempt(() => createSecureContext({ cert: certText, key: keyText }), `--tls-cert: ${cert} cannot be used`);
  return { cert: certText, key: keyText, validUntil: new Date(x509.validTo) };
}

const CAUSES: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'this account may not read it',
  EISDIR: 'it is a folder',
};

async function read(flag: string, path: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (error) {
    const why = CAUSES[systemCode(error) ?? ''] ?? messageOf(error);
    throw new CertificateError(`${flag}: ${path} cannot be read: ${why}.`, { cause: error });
  }
}

function attempt<T>(make: () => T, failure: string): T {
  try {
    return make();
  } catch (cause) {
    throw new CertificateError(`${failure} (${messageOf(cause)}).`, { cause });
  }
}
