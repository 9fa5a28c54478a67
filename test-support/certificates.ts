import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
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

const CA_SETTINGS = `[ca]
default_ca = ours
[ours]
database = index.txt
serial = serial
new_certs_dir = .
default_md = sha256
policy = any
[any]
commonName = supplied
`;

/** Makes a certificate as `makeCertificate` does, without other names, that was valid on one day in the past. */
export async function makeExpiredCertificate(folder: string, name: string): Promise<CertificateFiles> {
  const files = { cert: join(folder, `${name}.pem`), key: join(folder, `${name}.key`) };
  const request = join(folder, `${name}.csr`);
  await run('openssl', [
    ...['req', '-new', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-subj', `/CN=${name}`],
    ...['-keyout', files.key, '-out', request],
  ]);
  await writeFile(join(folder, 'ca.conf'), CA_SETTINGS);
  await writeFile(join(folder, 'index.txt'), '');
  await writeFile(join(folder, 'serial'), '01\n');
  const dates = ['-startdate', '200101000000Z', '-enddate', '200102000000Z'];
  await run(
    'openssl',
    [
      'ca',
      '-config',
      'ca.conf',
      '-selfsign',
      '-batch',
      '-notext',
      ...dates,
      '-keyfile',
      files.key,
      '-in',
      request,
    ].concat(['-out', files.cert]),
    { cwd: folder },
  );
  return files;
}
