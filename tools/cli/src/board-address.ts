import { request } from 'node:https';
import { text } from 'node:stream/consumers';
import type { Exposure } from '@callboard/runtime/supervision';
import { z } from 'zod';
import { isLoopback } from './command-line/reach.ts';

/** A Callboard on this machine answers within milliseconds; another program may never answer. */
const TIMEOUT_MS = 1_500;
/** The API's answer to a request without a login. */
const Problem = z.object({ type: z.string().startsWith('urn:callboard:') });

/** Formats a host and a port for a URL. */
export const authority = (host: string, port: number): string => `${host.includes(':') ? `[${host}]` : host}:${port}`;

/** Returns an address at which only this machine reaches what listens on a host, or would. */
export const loopbackHost = (host: string): string => (isLoopback(host) ? host : '127.0.0.1');

/** Returns the origin under which people open the board. */
export const boardOrigin = ({ host, exposure }: { host: string; exposure: Exposure }, port: number): string =>
  exposure.publicUrl ?? `${exposure.tls === null ? 'http' : 'https'}://${authority(host, port)}`;

/** Whether a Callboard's board listens on a port, with HTTPS or without. Never rejects. */
export async function isCallboard(host: string, port: number): Promise<boolean> {
  // Who listens on all addresses is asked at one of them.
  const board = `${authority(['0.0.0.0', '::'].includes(host) ? '127.0.0.1' : host, port)}/api/board`;
  for (const ask of [askPlainly, askEncrypted]) {
    const answer = await ask(board).catch(() => null);
    if (Problem.safeParse(answer).success) return true;
  }
  return false;
}

async function askPlainly(board: string): Promise<unknown> {
  const response = await fetch(`http://${board}`, { signal: AbortSignal.timeout(TIMEOUT_MS), redirect: 'error' });
  return response.json();
}

/** Says nothing secret, and believes nothing but that a Callboard is there: whose certificate it is does not matter. */
async function askEncrypted(board: string): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  request(`https://${board}`, { signal, rejectUnauthorized: false, agent: false }, (response) => {
    text(response).then(resolve, reject);
  })
    .once('error', reject)
    .end();
  return JSON.parse(await promise);
}
