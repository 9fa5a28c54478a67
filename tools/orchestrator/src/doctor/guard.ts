import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Clears up behind us if we are killed: what is started here outlives its parent on purpose. */
export interface Guard {
  /** The one process to end. */
  watch(pid: number): Promise<void>;
  /** We have cleared up ourselves; resolves when the guard is gone. */
  dismiss(): Promise<void>;
}

/** Waits for the end of its input, which comes when we are gone; what we have removed by then it does not find. */
const SCRIPT = 'cat >/dev/null; [ -f "$1/pid" ] && kill -TERM "$(cat "$1/pid")" 2>/dev/null; rm -rf "$1"';

/** Guards a temporary folder and the process that was started last in it. */
export async function startGuard(root: string): Promise<Guard> {
  const child = spawn('/bin/sh', ['-c', SCRIPT, 'sh', root], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true, // a Ctrl-C is for us alone
    env: { PATH: '/usr/local/bin:/usr/bin:/bin' },
  });
  child.stdin?.on('error', () => undefined);
  const closed = once(child, 'close');
  await once(child, 'spawn');
  return {
    watch: (pid) => writeFile(join(root, 'pid'), `${pid}\n`),
    dismiss: async () => {
      child.stdin?.end();
      await closed;
    },
  };
}
