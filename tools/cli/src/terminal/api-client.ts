import { chmod, mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import {
  createHttpClient,
  createHttpTransport,
  serviceRoutes,
  type Transport,
  TransportError,
} from '@callboard/contract/client';
import { describeDiskError } from '@callboard/runtime/disk-errors';
import { messageOf, systemCode } from '@callboard/runtime/errors';
import { terminalLoginFile } from '@callboard/runtime/terminal-login';
import { z } from 'zod';
import { dataDirSuffix, parseGiven } from '../command-line/flags.ts';
import type { Invocation } from '../commands/command.ts';
import { CliError } from '../errors.ts';
import type { Platform } from '../platform.ts';
import { findSupervisor } from '../supervisor/control-socket.ts';
import { apiOptions } from './terminal-flags.ts';

/** What a command of a logged-in terminal works with. */
export interface ApiWork<O> {
  readonly api: Transport;
  readonly options: O & { readonly json: boolean };
  readonly platform: Platform;
  readonly hint: Hint;
  readonly pageOf: PageOf;
}

/** Returns the address of a stage's page. */
export type PageOf = (stageId: string) => string;

/** Returns a command line to suggest, with the data directory if that is not the usual one. */
export type Hint = (text: string) => string;

/**
 * Reads the options of a command, connects, and runs it. Resolves with exit code 0.
 * @throws UsageError for an invalid value, CliError if it cannot connect or is refused
 */
export async function withApiClient<S extends z.ZodRawShape>(
  { given, platform }: Invocation,
  shape: S,
  work: (at: ApiWork<z.infer<z.ZodObject<S>>>) => Promise<void>,
): Promise<number> {
  const { 'data-dir': folder, json } = parseGiven(z.object(apiOptions(platform)), given);
  const own = parseGiven(z.object(shape), given);
  const { api, origin } = await openApiClient(folder, platform);
  const pageOf: PageOf = (stageId) => `${origin}/stages/${stageId}`;
  const hint: Hint = (text) => `npx callboard ${text}${dataDirSuffix(folder, platform.home)}`;
  await explained(() => work({ api, options: { ...own, json }, platform, hint, pageOf }));
  return 0;
}

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
async function openApiClient(dataDir: string, platform: Platform): Promise<{ api: Transport; origin: string }> {
  const login = await readLogin(platform, dataDir);
  if (login === null) {
    throw new CliError(
      `this terminal is not logged in to the Callboard on ${dataDir}. Log in: npx callboard login${dataDirSuffix(dataDir, platform.home)}`,
    );
  }
  const origin = await findAddress(login, platform);
  return { api: createHttpTransport({ origin, token: login.token, text: TEXTS, resendMs: RESEND_MS }), origin };
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

/** What a terminal needs to use one Callboard. */
const TerminalLogin = z.object({
  /** The data directory of that Callboard. */
  dataDir: z.string(),
  /** The origin of its API. */
  address: z.url(),
  token: z.string().min(1),
});
export type TerminalLogin = z.infer<typeof TerminalLogin>;

const LoginFile = z.object({ logins: z.array(TerminalLogin) });

type Location = Pick<Platform, 'env' | 'home'>;

/** Returns the file in which the logins of this account are kept. */
export const loginFile = ({ env, home }: Location): string => terminalLoginFile(env, home);

/**
 * Returns the login for the Callboard on a data directory; null if there is none.
 * @throws CliError if the file cannot be used, and if others may read it
 */
export async function readLogin(location: Location, dataDir: string): Promise<TerminalLogin | null> {
  return (await readAll(loginFile(location))).find((login) => login.dataDir === dataDir) ?? null;
}

/**
 * Keeps a login, in place of an older one for the same Callboard.
 * @throws CliError if the file cannot be written
 */
export async function saveLogin(location: Location, login: TerminalLogin): Promise<void> {
  const file = loginFile(location);
  const others = (await readAll(file)).filter(({ dataDir }) => dataDir !== login.dataDir);
  await writeAll(file, [...others, login]);
}

/** Forgets the login for the Callboard on a data directory; removes the file with the last one. @throws CliError */
export async function forgetLogin(location: Location, dataDir: string): Promise<void> {
  const file = loginFile(location);
  await writeAll(
    file,
    (await readAll(file)).filter((login) => login.dataDir !== dataDir),
  );
}

async function readAll(file: string): Promise<TerminalLogin[]> {
  const text = await readOwn(file);
  if (text === null) return [];
  try {
    return LoginFile.parse(JSON.parse(text)).logins;
  } catch {
    throw new CliError(`${file} is damaged. Remove it, then log in again: npx callboard login`);
  }
}

/** Looks at the very file that it then reads. */
async function readOwn(file: string): Promise<string | null> {
  try {
    await using handle = await open(file, 'r');
    const { mode, uid } = await handle.stat();
    const own = process.geteuid?.();
    if (own !== undefined && (uid !== own || (mode & 0o077) !== 0)) throw notPrivate(file, uid === own);
    return await handle.readFile('utf8');
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return null;
    throw error instanceof CliError ? error : new CliError(`${file} cannot be read: ${messageOf(error)}.`);
  }
}

const notPrivate = (file: string, isOwn: boolean): CliError =>
  new CliError(
    isOwn
      ? `other users may read ${file}, so its token may be known. Remove the file, revoke "Terminal on ..." in the list of logins on the board, and log in again: npx callboard login`
      : `${file} belongs to another user, so it is not used. Remove it, then log in again: npx callboard login`,
  );

/** Readers see either the old file or the new one. */
async function writeAll(file: string, logins: readonly TerminalLogin[]): Promise<void> {
  const part = `${file}.${process.pid}.part`;
  try {
    if (logins.length === 0) {
      await rm(file, { force: true });
      return;
    }
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    await chmod(dirname(file), 0o700);
    await rm(part, { force: true });
    {
      await using handle = await open(part, 'wx', 0o600);
      await handle.writeFile(`${JSON.stringify({ logins } satisfies { logins: readonly TerminalLogin[] }, null, 2)}\n`);
      await handle.sync();
    }
    await rename(part, file);
  } catch (error) {
    await rm(part, { force: true }).catch(() => undefined);
    throw new CliError(`${file} cannot be written: ${describeDiskError(error) ?? messageOf(error)}.`);
  }
}

/** Ends the login of a token. One that has ended already is no failure. @throws TransportError */
export async function revoke(address: string, token: string): Promise<void> {
  try {
    await createHttpClient({ origin: address, token }).call(serviceRoutes.logOut, {});
  } catch (error) {
    const hasEnded = error instanceof TransportError && error.code === 'not_logged_in';
    if (!hasEnded) throw error;
  }
}
