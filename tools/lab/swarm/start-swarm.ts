import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { stripTypeScriptTypes } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { conversationsFolder, readConversation } from '../emulator/conversation.ts';

const MAIN = fileURLToPath(new URL('main.ts', import.meta.url));

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

const TOOLS = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Writes the emulated `claude` into a folder and returns the path of the program. It is plain JavaScript:
 * stripping types in each of hundreds of processes would cost more than the emulator itself.
 */
export async function writeEmulator(folder: string): Promise<string> {
  const emulator = (await readdir(join(TOOLS, 'lab/emulator'))).map((name) => `lab/emulator/${name}`);
  for (const name of [...emulator, 'scripted-model/src/marker.ts']) {
    const source = stripTypeScriptTypes(await readFile(join(TOOLS, name), 'utf8'));
    const file = join(folder, name.replace(/\.ts$/, '.mjs'));
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, source.replaceAll(/(from '\..*)\.ts'/g, "$1.mjs'"));
  }
  const program = join(folder, 'claude');
  // `exec` keeps the pid. One thread, and a small heap for short-lived objects.
  const flags = '--max-semi-space-size=1 --v8-pool-size=0';
  await writeFile(
    program,
    `#!/bin/sh\nunset NODE_OPTIONS\nexec "${process.execPath}" ${flags} "${join(folder, 'lab/emulator/main.mjs')}" "$@"\n`,
  );
  await chmod(program, 0o755);
  return program;
}

/** The messages that the emulator's model received under this HOME: the texts of each conversation, in order, with its working directory. */
export async function emulatedConversations(home: string): Promise<{ cwd: string; texts: string[] }[]> {
  const folder = conversationsFolder(home);
  return (await readdir(folder)).map((name) => {
    const items = readConversation(join(folder, name));
    const texts = items.flatMap((item) => (item.type === 'user' ? [item.text] : []));
    return { cwd: items.find((item) => item.type === 'begun')?.cwd ?? '', texts };
  });
}
