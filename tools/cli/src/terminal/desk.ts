import type { Transport } from '@callboard/contract/client';
import { createHttpTransport, TransportError } from '@callboard/contract/client';
import { dataDirSuffix } from '../command-line/data-dir.ts';
import type { Platform } from '../edges.ts';
import { CliError } from '../errors.ts';
import { findSupervisor } from '../supervisor/supervisor-lock.ts';
import { readLogin, type TerminalLogin } from './login-file.ts';

const TEXTS = {
  unanswered:
    'Callboard did not answer, so it is not known whether this took effect. Look at the board, or at what ls lists.',
  unreadable: (what: string) =>
    `the answer is not one of this version's (${what}). Stop Callboard, start it again, and try once more.`,
};

/** How long a command goes on asking what became of it: about as long as a start of Callboard takes. */
const RESEND_MS = 10_000;

/**
 * Connects to the Callboard on a data directory with the login of this terminal.
 * @throws CliError if none runs, or this terminal is not logged in
 */
export async function openApiClient(dataDir: string, platform: Platform): Promise<Transport> {
  const login = await readLogin(platform, dataDir);
  if (login === null) {
    throw new CliError(
      `this terminal is not logged in to the Callboard on ${dataDir}. Log in: npx callboard login${dataDirSuffix(dataDir, platform.home)}`,
    );
  }
  const origin = await findAddress(login, platform);
  return createHttpTransport({ origin, token: login.token, text: TEXTS, resendMs: RESEND_MS });
}

/**
 * Returns where it listens now. The token is sent only while our own supervisor runs: any program could listen on the port of one
 * that has ended.
 * @throws CliError if none runs
 */
export async function findAddress({ dataDir, address }: TerminalLogin, { home }: Platform): Promise<string> {
  const running = await findSupervisor(dataDir);
  if (running === null) {
    throw new CliError(`no Callboard runs on ${dataDir}. Start it: npx callboard start${dataDirSuffix(dataDir, home)}`);
  }
  const url = new URL(address);
  if (running.port !== 0) url.port = String(running.port);
  return url.origin;
}

/** Runs what asks the API; a refusal becomes a CliError in the server's words. */
export async function explained<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof TransportError) throw new CliError(error.message.trim());
    throw error;
  }
}
