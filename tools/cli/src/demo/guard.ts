import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { inPackage } from '../package-files.ts';

/** Waits for the end of its input, which comes when we are gone, and clears up unless we have done so. */
const SCRIPT = 'cat >/dev/null; [ ! -d "$1" ] || exec "$2" "$3" "$1"';

/**
 * Clears the demo up where it is killed: its sessions outlive Callboard on purpose. A shell that waits costs nothing.
 * @returns how to send it away, once the folder is removed
 */
export async function startGuard(root: string): Promise<() => Promise<void>> {
  const clearUp = inPackage('dist/clear-up.js');
  const child = spawn('/bin/sh', ['-c', SCRIPT, 'sh', root, process.execPath, clearUp], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true, // a Ctrl-C is for us alone
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
