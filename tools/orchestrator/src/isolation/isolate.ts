import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { systemCode } from '../lib/errors.ts';
import { bubblewrapArguments, type Place } from './bubblewrap.ts';
import { layOut } from './mount-layout.ts';

/** What to start in place of a command. */
export interface IsolatedCommand {
  command: string;
  args: string[];
  cwd: string;
  /** Nothing but this: what the command is to see is in it. */
  env: Record<string, string>;
}

/** Of the user's environment, what no command can do without. No keys, no addresses of agents, nothing of ours. */
const PASSED = /^(PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_[A-Z]+|TERM|TZ)$/;

/**
 * The command line that runs a command of a stage where it can do no harm: it sees the machine read-only, its own processes
 * alone, and none of Callboard's data but its worktree, which it may write to. It ends, with all that it has started, as soon as its
 * first process ends, or whoever started it. A signal to it ends it at once; nothing in it can catch that.
 * @param command the program and its arguments
 * @param env the user's environment, of which little is passed on, and what the command is to have besides
 * @throws OperationalError `isolation_place` where the worktree or the data directory is not there
 */
export async function isolated(
  command: readonly string[],
  place: Place,
  env: { user: Readonly<Record<string, string>>; own?: Readonly<Record<string, string>> },
): Promise<IsolatedCommand> {
  const layout = await layOut(place);
  const passed = Object.entries(env.user).filter(([name]) => PASSED.test(name));
  return {
    command: 'bwrap',
    args: [...bubblewrapArguments(layout), '--', ...command],
    cwd: '/',
    env: { ...Object.fromEntries(passed), TMPDIR: '/tmp', ...env.own },
  };
}

/** Whether commands can be isolated here; if not, why, in words for people, and in one that a program understands. */
export type IsolationTrial =
  | { possible: true }
  | { possible: false; reason: 'unsupported' | 'missing' | 'forbidden'; detail: string };

/**
 * Tries it, since having the program says nothing: the system may forbid what it needs (AppArmor, a container).
 * @param env the user's environment: its PATH says where `bwrap` is
 */
export async function canIsolate(env: Readonly<Record<string, string>>): Promise<IsolationTrial> {
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
    return { possible: false, reason: 'forbidden', detail: tried.stderr.trim() || 'bwrap ended without a word.' };
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}
