import { spawn } from 'node:child_process';
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

/** Opens a page in the user's browser; resolves with whether the system took it. It is not waited for otherwise. */
export async function openBrowser(url: string, platform: NodeJS.Platform, env: Environment): Promise<boolean> {
  const [program, args] = opener(platform, url);
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const child = spawn(program, args, { stdio: 'ignore', detached: true, env: { ...env } });
  child.once('error', () => resolve(false));
  child.once('exit', (code) => resolve(code === 0));
  child.unref();
  return promise;
}

function opener(platform: NodeJS.Platform, url: string): [string, string[]] {
  if (platform === 'darwin') return ['open', [url]];
  if (platform === 'win32') return ['rundll32', ['url.dll,FileProtocolHandler', url]];
  return ['xdg-open', [url]];
}

/** Opens the board in the user's browser, or says that none could be opened. */
export async function showBoard(link: string, { platform, env, err }: Edges): Promise<void> {
  const { CALLBOARD_TOKEN: _token, ...browserEnv } = env;
  if (!(await openBrowser(link, platform, browserEnv))) {
    err('callboard: no browser could be opened; open the link above in one.');
  }
}
