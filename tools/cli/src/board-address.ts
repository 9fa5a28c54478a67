import { z } from 'zod';

/** A Callboard on this machine answers within milliseconds; another program may never answer. */
const TIMEOUT_MS = 1_500;
/** The API's answer to a request without a login. */
const Problem = z.object({ type: z.string().startsWith('urn:callboard:') });

/** Formats a host and a port for a URL. */
export const authority = (host: string, port: number): string => `${host.includes(':') ? `[${host}]` : host}:${port}`;

/** Whether a Callboard's board listens on a port. Never rejects. */
export async function isCallboard(host: string, port: number): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const response = await fetch(`http://${authority(host, port)}/api/board`, { signal, redirect: 'error' });
    return Problem.safeParse(await response.json()).success;
  } catch {
    return false;
  }
}
