import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type EndAllSessions, inPackage } from '../platform.ts';

/** The paths in the demo's own folder. */
export const demoLayout = (root: string) => ({
  dataDir: join(root, 'data'),
  repository: join(root, 'shop'),
  home: join(root, 'home'),
  tmp: join(root, 'tmp'),
});

/**
 * Ends the sessions of a demo whose servers have ended, and removes its folder.
 * @returns the stages whose processes could not be ended; with any, the folder stays
 */
export async function cleanUp(root: string, endAllSessions: EndAllSessions): Promise<string[]> {
  const { failed } = await endAllSessions(demoLayout(root).dataDir, { log: () => undefined });
  if (failed.length === 0) await rm(root, { recursive: true, force: true, maxRetries: 10 });
  return failed;
}

/** Waits for the end of its input, which means that the demo's process is gone. Cleans up if the folder still exists. */
const GUARD = 'cat >/dev/null; [ ! -d "$1" ] || exec "$2" "$3" "$1"';

/**
 * Starts a process that cleans up after a demo that is killed: its sessions outlive Callboard on purpose. A waiting
 * shell costs nothing.
 * @returns how to dismiss it, once the folder is removed
 */
export async function startCleanUpGuard(root: string): Promise<() => Promise<void>> {
  const child = spawn('/bin/sh', ['-c', GUARD, 'sh', root, process.execPath, inPackage('dist/clean-up.js')], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true, // a Ctrl-C must not reach it
    cwd: '/',
    env: { PATH: '/usr/local/bin:/usr/bin:/bin' },
  });
  child.stdin?.on('error', () => undefined);
  const closed = once(child, 'close');
  await once(child, 'spawn');
  return async () => {
    child.stdin?.end();
    await closed;
  };
}
