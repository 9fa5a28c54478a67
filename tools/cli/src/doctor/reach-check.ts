import { CertificateError, readCertificate } from '@callboard/runtime/certificate';
import { boardOrigin } from '../board-address.ts';
import { isLoopback } from '../command-line/reach.ts';
import type { DoctorOptions } from './doctor-options.ts';
import { type Finding, ok, problem, warning } from './report.ts';

const SOON_MS = 14 * 24 * 3_600_000;

/** Checks how people reach the board from other machines: the certificate, and who may speak for others. */
export async function checkExposure(
  options: Pick<DoctorOptions, 'host' | 'port' | 'exposure'>,
  now: Date,
): Promise<Finding> {
  const { host, port, exposure } = options;
  const { tls, proxies, publicUrl } = exposure;
  const at = boardOrigin(options, port);
  if (tls !== null) return checkCertificate(tls, at, now);
  if (proxies.length > 0) return ok(`${at}, through the proxy at ${proxies.join(', ')}`);
  if (publicUrl !== null) return ok(`${at}, through a tunnel`);
  return ok(isLoopback(host) ? 'none: the board listens on this machine only' : at);
}

async function checkCertificate(files: { cert: string; key: string }, at: string, now: Date): Promise<Finding> {
  try {
    const { validUntil } = await readCertificate(files);
    const day = validUntil.toISOString().slice(0, 10);
    const leftMs = validUntil.getTime() - now.getTime();
    if (leftMs < 0) return problem(`the certificate in ${files.cert} was valid until ${day}`, RENEW);
    const found = `${at}, with a certificate that is valid until ${day}`;
    return leftMs < SOON_MS ? warning(found, RENEW) : ok(found);
  } catch (error) {
    if (error instanceof CertificateError) return problem(error.message, 'Name a certificate and its key in PEM');
    throw error;
  }
}

const RENEW = 'Renew the certificate: Callboard reads the new one by itself';
