import { readFileSync } from 'node:fs';
import type { DatabaseAddress } from '@callboard/runtime/database-url';
import { messageOf, systemCode } from '@callboard/runtime/errors';
import type pg from 'pg';
import { DatabaseUnreachable } from '../storage-failure.ts';

/**
 * How the connection is encrypted, as `psql` understands the URL; without any `sslmode` it is not.
 * @throws DatabaseUnreachable, with the file and what to do, if the certificate of the authority cannot be read
 */
export function tlsOf(parameters: DatabaseAddress['parameters']): pg.ClientConfig['ssl'] {
  const mode = parameters.get('sslmode') ?? 'disable';
  if (mode === 'disable' || mode === 'allow' || mode === 'prefer') return false;
  const file = parameters.get('sslrootcert');
  const ca = file === undefined ? {} : { ca: readCertificate(file) };
  if (mode === 'require' && file === undefined) return { rejectUnauthorized: false };
  return mode === 'verify-full' ? ca : { ...ca, checkServerIdentity: () => undefined };
}

function readCertificate(file: string): string {
  try {
    const text = readFileSync(file, 'utf8');
    if (text.includes('-----BEGIN ')) return text;
  } catch (error) {
    const text = `the file ${file}, which sslrootcert in the database's URL names, cannot be read (${messageOf(error)}). Correct the path, or make the file readable for this account.`;
    throw new DatabaseUnreachable('no certificate of the authority', { text, cause: error });
  }
  const text = `the file ${file}, which sslrootcert in the database's URL names, holds no certificate in the PEM format. Name the certificate of the authority that has signed the server's.`;
  throw new DatabaseUnreachable('no certificate of the authority', { text });
}

const UNTRUSTED: ReadonlySet<string | undefined> = new Set([
  ...['DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
  ...['UNABLE_TO_GET_ISSUER_CERT', 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'CERT_SIGNATURE_FAILURE', 'CERT_UNTRUSTED'],
]);
/** `pg` gives these no code. */
const NO_TLS = 'The server does not support SSL connections';
/** How PostgreSQL ends the refusal of a connection that is not encrypted, where it speaks English. */
const NOT_ENCRYPTED = /, (no encryption|SSL off)$/;

/** Says why no encrypted connection came about, and what to do; null for any other failure. */
export function tlsErrorText(error: unknown, host: string): string | null {
  const code = systemCode(error);
  const message = messageOf(error);
  const server = `the database's server ${host}`;
  if (UNTRUSTED.has(code))
    return `${server} has a certificate that is not signed by an authority this machine trusts (${message}). Name the certificate of its authority with sslrootcert in the database's URL.`;
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return `${server} has a certificate for another name (${message}). Name the server in the database's URL as its certificate does, or give it a certificate for this name.`;
  if (code === 'CERT_HAS_EXPIRED')
    return `${server} has a certificate that has expired. Renew it there; if it has not, correct the clock of this machine.`;
  if (code === 'CERT_NOT_YET_VALID')
    return `${server} has a certificate that is not valid yet. Correct the clock of this machine, or replace the certificate.`;
  if (message === NO_TLS)
    return `${server} takes no encrypted connections. Switch ssl on in its postgresql.conf; or leave out sslmode if nobody can eavesdrop on the connection.`;
  if (code === '28000' && NOT_ENCRYPTED.test(message))
    return `${server} refuses connections that are not encrypted (${message}). Add sslmode=verify-full to the database's URL; if it has, no entry of the server's pg_hba.conf allows this connection.`;
  if (code !== undefined && /^ERR_(SSL|TLS|OSSL)_/.test(code))
    return `no encrypted connection to ${server} could be established (${message}). Compare ssl_min_protocol_version and the certificate there with what this machine supports.`;
  return null;
}
