import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { untilAborted } from '@callboard/runtime/waits';
import type { Edges, Environment } from './edges.ts';

/** Whether to open a browser: as the user said, else where a person sits before a desktop. */
export function wantsBrowser(open: boolean | null, { env, isTerminal, platform }: BrowserSurroundings): boolean {
  if (open !== null) return open;
  if (!isTerminal || isSet(env.CI)) return false;
  if (platform === 'darwin') return !isSet(env.SSH_CONNECTION);
  return platform === 'win32' || isSet(env.DISPLAY) || isSet(env.WAYLAND_DISPLAY);
}

export type BrowserSurroundings = Pick<Edges, 'env' | 'isTerminal' | 'platform'>;

const isSet = (variable: string | undefined) => variable !== undefined && variable !== '' && variable !== 'false';

/** Hands a file to the user's browser; resolves with whether the system took it. It is not waited for otherwise. */
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

/** How long the file is there for a browser to read it. */
const FILE_MS = 5_000;

interface Showing {
  link: string;
  /** A folder that commands in a sandbox do not see. The file goes into a folder of its own there. */
  folder: string;
  /** Resolves when somebody has logged in with the link. */
  followed: Promise<void>;
  /** Callboard ends. */
  stop: AbortSignal;
}

/**
 * Opens the board in the user's browser, or says that none has opened it. The browser is given a file that leads to the
 * link, for this account alone: the arguments of a process can be read by everybody. Resolves when the file is gone.
 */
export async function showBoard(
  { link, folder: parent, followed, stop }: Showing,
  { platform, env, err }: Edges,
): Promise<void> {
  const { CALLBOARD_TOKEN: _token, ...browserEnv } = env;
  const folder = await mkdtemp(join(parent, 'callboard-open-')); // 0700
  const over = new AbortController();
  try {
    const file = join(folder, 'callboard.html');
    await writeFile(file, leadingTo(link), { mode: 0o600, flag: 'wx' });
    const refused = openBrowser(file, platform, browserEnv).then((taken) => (taken ? untilAborted(over.signal) : null));
    const words = await Promise.race([
      followed.then(() => null),
      untilAborted(stop).then(() => null),
      refused.then(() => 'no browser could be opened; open the printed link in one.'),
      sleep(FILE_MS, 'no browser has opened the board yet; open the printed link in one.', { signal: over.signal }),
    ]);
    if (words !== null) err(`callboard: ${words}`);
  } finally {
    over.abort();
    await rm(folder, { recursive: true, force: true });
  }
}

const leadingTo = (link: string): string => {
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
