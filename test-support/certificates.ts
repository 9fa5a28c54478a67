import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { CertificateFiles } from '@callboard/runtime/certificate';

const run = promisify(execFile);

/** Makes a certificate that signs itself, for these names, and its key. `ca` is what a client has to trust. */
export async function makeCertificate(
  folder: string,
  name: string,
  names: readonly string[],
): Promise<CertificateFiles & { ca: Buffer }> {
  const files = { cert: join(folder, `${name}.pem`), key: join(folder, `${name}.key`) };
  const entries = names.map((each) => (/^[\d.:]+$/.test(each) ? `IP:${each}` : `DNS:${each}`));
  await run('openssl', [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '30'],
    ...['-subj', `/CN=${name}`, '-addext', `subjectAltName=${entries.join(',')}`],
    ...['-keyout', files.key, '-out', files.cert],
  ]);
  return { ...files, ca: await readFile(files.cert) };
}
