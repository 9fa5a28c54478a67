import { z } from 'zod';

const TIMEOUT_MS = 5_000;
/** What the API answers to those who are not logged in. */
const Problem = z.object({ type: z.string().startsWith('urn:callboard:') });

/** Host and port as they stand in a URL. */
export const authority = (host: string, port: number): string => `${host.includes(':') ? `[${host}]` : host}:${port}`;

/** Whether the program on a port is the board of a Callboard. Never rejects. */
export async function isCallboard(host: string, port: number): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const response = await fetch(`http://${authority(host, port)}/api/board`, { signal, redirect: 'error' });
    return Problem.safeParse(await response.json()).success;
  } catch {
    return false;
  }
}
