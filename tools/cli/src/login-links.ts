import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Environment } from '@callboard/runtime/environment';
import { messageOf } from '@callboard/runtime/errors';
import { untilAborted } from '@callboard/runtime/waits';
import { renderUnicodeCompact } from 'uqr';
import { isLoopback, type StartOptions } from './command-line/start-options.ts';
import type { Platform } from './platform.ts';
import { runFolder } from './supervisor/control-socket.ts';
import type { Supervisor } from './supervisor/supervisor.ts';

export interface LoginLinksDeps {
  readonly supervisor: Supervisor;
  readonly loginLink: string;
  readonly options: Pick<StartOptions, 'open' | 'dataDir'>;
  readonly stop: AbortSignal;
  /** What is asked in the terminal once the link is printed: until it ends, no key is listened to. */
  readonly askFirst?: () => Promise<void>;
}

/**
 * Prints the login link, opens it in a browser if that is wanted, and prints another for each press of `l`.
 * @returns how to end this
 */
export async function offerLoginLinks(deps: LoginLinksDeps, platform: Platform) {
  const { supervisor, loginLink, options, stop, askFirst } = deps;
  const { out, err } = platform;
  out(`Callboard ready: ${loginLink}`);
  const opensBrowser = wantsBrowser(options.open, platform);
  if (!opensBrowser) printQrCode(loginLink, platform); // else the browser uses the link up
  const showing = opensBrowser
    ? showBoard(
        { link: loginLink, folder: runFolder(options.dataDir), followed: supervisor.whenFollowed(loginLink), stop },
        platform,
      )
    : Promise.resolve();
  showing.catch((error: unknown) => err(`callboard: no browser could be opened: ${messageOf(error)}`));
  await askFirst?.();
  const printLink = () =>
    supervisor.createLink(stop).then(
      (link) => {
        out(`Login link: ${link}`);
        printQrCode(link, platform);
      },
      (error: unknown) => stop.aborted || err(`callboard: ${messageOf(error)}`),
    );
  const stopListening = platform.listenForKeys((key) => {
    if (key === 'l') void printLink();
  });
  if (stopListening !== null) err('callboard: press l for another login link, Ctrl-C to stop.');
  return async () => {
    stopListening?.();
    await showing.catch(() => undefined);
  };
}

/** The light margin that readers need, in modules. */
const MARGIN = 4;

/**
 * Prints a login link as a QR code, two rows in a line of half blocks, if a person sees it, it fits, and a phone can open the link.
 * In black on white whatever the colours of the terminal: some readers take no other.
 */
export function printQrCode(link: string, { isTerminal, columns, out }: Platform): void {
  if (!isTerminal || isLoopback(new URL(link).hostname.replace(/^\[(.*)\]$/, '$1'))) return;
  const rows = renderUnicodeCompact(link, { border: MARGIN, invert: true }).split('\n');
  if (rows[0] === undefined || rows[0].length > columns()) return;
  out(rows.map((row) => `\x1b[38;5;16;48;5;231m${row}\x1b[0m`).join('\n'));
}

/** Whether to open a browser: what the user chose, otherwise whether there is a desktop with a person in front of it. */
export function wantsBrowser(open: boolean | null, { env, isTerminal, platform }: Desktop): boolean {
  if (open !== null) return open;
  if (!isTerminal || isSet(env.CI)) return false;
  if (platform === 'darwin') return !isSet(env.SSH_CONNECTION);
  return platform === 'win32' || isSet(env.DISPLAY) || isSet(env.WAYLAND_DISPLAY);
}

export type Desktop = Pick<Platform, 'env' | 'isTerminal' | 'platform'>;

const isSet = (variable: string | undefined) => variable !== undefined && variable !== '' && variable !== 'false';

/** Hands a file to the user's browser. Resolves with whether the system accepted it; never rejects. */
export async function openBrowser(file: string, platform: NodeJS.Platform, env: Environment): Promise<boolean> {
  const [program, args] = opener(platform, file);
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const child = spawn(program, args, { stdio: 'ignore', detached: true, env: { ...env } });
  child.once('error', () => resolve(false));
  child.once('exit', (code) => resolve(code === 0));
  child.unref();
  return promise;
}

function opener(platform: NodeJS.Platform, file: string): [string, string[]] {
  if (platform === 'darwin') return ['open', [file]];
  if (platform === 'win32') return ['rundll32', ['url.dll,FileProtocolHandler', file]];
  return ['xdg-open', [file]];
}

/** How long a browser may take to read the file. */
const FILE_MS = 5_000;

interface Showing {
  link: string;
  /** A folder that commands in a sandbox cannot see. The file goes into a new folder in it. */
  folder: string;
  /** Resolves when somebody has logged in with the link. */
  followed: Promise<void>;
  /** Aborts when Callboard stops. */
  stop: AbortSignal;
}

/**
 * Opens the board in the user's browser, or says that no browser did. The browser gets a file, readable by this account
 * alone, that redirects to the link: everybody can read the arguments of a process. Resolves when the file is removed.
 */
export async function showBoard(
  { link, folder: parent, followed, stop }: Showing,
  { platform, env, err }: Platform,
): Promise<void> {
  const { CALLBOARD_TOKEN: _token, ...browserEnv } = env;
  const folder = await mkdtemp(join(parent, 'callboard-open-')); // 0700
  const over = new AbortController();
  try {
    const file = join(folder, 'callboard.html');
    await writeFile(file, redirectTo(link), { mode: 0o600, flag: 'wx' });
    const refused = openBrowser(file, platform, browserEnv).then((taken) => (taken ? untilAborted(over.signal) : null));
    const text = await Promise.race([
      followed.then(() => null),
      untilAborted(stop).then(() => null),
      refused.then(() => 'no browser could be opened; open the printed link in one.'),
      sleep(FILE_MS, 'no browser has opened the board yet; open the printed link in one.', { signal: over.signal }),
    ]);
    if (text !== null) err(`callboard: ${text}`);
  } finally {
    over.abort();
    await rm(folder, { recursive: true, force: true });
  }
}

const redirectTo = (link: string): string => {
  const address = link.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url=${address}">
<title>Callboard</title>
</head>
<body><p><a href="${address}">Open Callboard</a></p></body>
</html>
`;
};
