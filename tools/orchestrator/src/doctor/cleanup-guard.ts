import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Cleans up if we are killed, since the processes that are started here outlive their parent on purpose. */
export interface CleanupGuard {
  /** Sets the process to end. */
  watch(pid: number): Promise<void>;
  /** Tells the guard that everything is cleaned up; resolves when it has ended. */
  dismiss(): Promise<void>;
}

/**
 * A line on stdin means that we have cleaned up; its end without a line means that we were killed. The script then finds
 * what was started by the folder in its environment, repeatedly, since a process may be about to start another one or to exec
 * its program. Without `/proc` it ends only the process set by `watch`.
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
    detached: true, // Ctrl-C must not reach it
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
