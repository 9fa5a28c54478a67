import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Clears up behind us if we are killed: what is started here outlives its parent on purpose. */
export interface CleanupGuard {
  /** The one process to end. */
  watch(pid: number): Promise<void>;
  /** We have cleared up ourselves; resolves when the guard is gone. */
  dismiss(): Promise<void>;
}

/**
 * A line means that we have cleared up; the end of the input without one that we are gone. What was started is then found
 * by the folder in its environment, more than once: a process may be about to start another, or to become what it is.
 * Where there is no `/proc`, the one that was named is ended.
 */
const SCRIPT = `
if ! read -r _; then
  [ -f "$1/pid" ] && kill -TERM "$(cat "$1/pid")" 2>/dev/null
  quiet=0
  for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    found=$(grep -alsF "$1/" /proc/[0-9]*/environ)
    [ -n "$found" ] && quiet=0 || quiet=$((quiet + 1))
    [ "$quiet" -ge 3 ] && break
    for environ in $found; do pid=\${environ#/proc/}; kill -TERM "\${pid%/environ}" 2>/dev/null; done
    sleep 0.1
  done
fi
rm -rf "$1"
`;

/** Guards a temporary folder and the process that was started last in it. */
export async function startCleanupGuard(root: string): Promise<CleanupGuard> {
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
      child.stdin?.end('\n');
      await closed;
    },
  };
}
