import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { writeEmulator } from './write-emulator.ts';

const MAIN = fileURLToPath(new URL('swarm/main.ts', import.meta.url));

export interface Swarm {
  /** The program to use as `claude`; each one costs a sleeping process of a few hundred kilobytes. */
  readonly program: string;
  /** The process that emulates all of them. */
  readonly pid: number;
  close(): Promise<void>;
}

/** Starts a process that emulates any number of `claude`, each with its own pid, FIFO and spool. */
export async function startSwarm(folder: string): Promise<Swarm> {
  const single = await writeEmulator(join(folder, 'single'));
  const registry = join(folder, 'registry.fifo');
  execFileSync('mkfifo', [registry]);
  const program = join(folder, 'claude');
  await writeFile(program, script(single, registry));
  await chmod(program, 0o755);
  const child = spawn(process.execPath, [MAIN, registry], { stdio: ['pipe', 'pipe', 'inherit'] });
  await once(child.stdout, 'data');
  return {
    program,
    pid: child.pid ?? -1,
    async close() {
      child.stdin.end();
      await once(child, 'exit');
    },
  };
}

const script = (single: string, registry: string): string => `#!/bin/sh
# Who asks for the version, or speaks through anything but a FIFO, gets an emulator of its own.
[ -p /dev/stdin ] || exec "${single}" "$@"
resumed=new
while [ $# -gt 0 ]; do
  case "$1" in
    --session-id) id=$2 ;;
    --resume) id=$2 resumed=resumed ;;
    --permission-mode) mode=$2 ;;
  esac
  shift
done
# In a process of its own: this one's stdout is the spool, and is opened by whoever reads the line.
(printf '%s\\t%s\\t%s\\t%s\\t%s\\t%s\\n' "$$" "$PWD" "$HOME" "$id" "$resumed" "$mode" > "${registry}")
exec sleep 2147483647
`;
