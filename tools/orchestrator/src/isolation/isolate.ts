import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemCode } from '@callboard/runtime/errors';
import { execa } from 'execa';
import { bubblewrapArguments, type IsolationOptions } from './bubblewrap.ts';
import { resolveLayout } from './mount-layout.ts';

/** The command to start instead of the original one. */
export interface IsolatedCommand {
  command: string;
  args: string[];
  cwd: string;
  /** The complete environment. */
  env: Record<string, string>;
}

/** The variables of the user's environment that every command needs: no keys, no agent sockets, nothing of Callboard's. */
const PASSED = /^(PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_[A-Z]+|TERM|TZ)$/;

/**
 * Returns the command line that runs a command of a stage where it can do no harm. The command sees the machine read-only,
 * only its own processes, and of Callboard's data only its worktree, which is writable. It ends, with everything it has
 * started, as soon as its first process or its parent ends. A signal ends it at once and cannot be caught inside.
 * @param command the program and its arguments
 * @param env the user's environment, of which little is passed on, and further variables for the command
 * @throws OperationalError `isolation_place` when the worktree or the data directory does not exist
 */
export async function isolated(
  command: readonly string[],
  place: IsolationOptions,
  env: { user: Readonly<Record<string, string>>; own?: Readonly<Record<string, string>> },
): Promise<IsolatedCommand> {
  const layout = await resolveLayout(place);
  const passed = Object.entries(env.user).filter(([name]) => PASSED.test(name));
  return {
    command: 'bwrap',
    args: [...bubblewrapArguments(layout), '--', ...command],
    cwd: '/',
    env: { ...Object.fromEntries(passed), TMPDIR: '/tmp', ...env.own },
  };
}

/** Whether commands can be isolated on this machine; if not, why, for programs and for people. */
export type IsolationSupport =
  | { possible: true }
  | { possible: false; reason: 'unsupported' | 'missing' | 'forbidden'; detail: string };

/**
 * Tries to isolate a command. Finding the program is not enough: the system may forbid what it needs (AppArmor, a container).
 * @param env the user's environment; its PATH is searched for `bwrap`
 */
export async function canIsolate(env: Readonly<Record<string, string>>): Promise<IsolationSupport> {
  if (process.platform !== 'linux')
    return { possible: false, reason: 'unsupported', detail: 'Callboard isolates commands on Linux only.' };
  const dataDir = await mkdtemp(join(tmpdir(), 'callboard-isolation-'));
  try {
    const folder = join(dataDir, 'worktree');
    await mkdir(folder);
    const place = { folder, dataDir, readable: [], writable: [], hidden: [], network: 'none' } as const;
    const { command, args, cwd, env: own } = await isolated(['sh', '-c', 'echo inside > trial'], place, { user: env });
    const tried = await execa(command, args, { cwd, env: own, extendEnv: false, reject: false, stdin: 'ignore' });
    if (systemCode(tried.cause) === 'ENOENT')
      return { possible: false, reason: 'missing', detail: 'bubblewrap (bwrap) is not installed.' };
    const written = await readFile(join(folder, 'trial'), 'utf8').catch(() => '');
    if (!tried.failed && written === 'inside\n') return { possible: true };
    return { possible: false, reason: 'forbidden', detail: tried.stderr.trim() || 'bwrap ended without output.' };
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}
