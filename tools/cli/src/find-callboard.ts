import { z } from 'zod';

const PATIENCE_MS = 5_000;
/** What its API answers to those who are not logged in. */
const Problem = z.object({ type: z.string().startsWith('urn:callboard:') });

/** An address with its port, as it stands in a URL. */
export const authority = (host: string, port: number): string => `${host.includes(':') ? `[${host}]` : host}:${port}`;

/** Whether the program that has a port is the board of a Callboard. */
export async function isCallboard(host: string, port: number): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(PATIENCE_MS);
    const response = await fetch(`http://${authority(host, port)}/api/board`, { signal, redirect: 'error' });
    return Problem.safeParse(await response.json()).success;
  } catch {
    return false;
  }
}
