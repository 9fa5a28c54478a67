import { constants } from 'node:fs';
import { access, mkdir, mkdtemp, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, isAbsolute, join } from 'node:path';
import { systemCode } from '@callboard/runtime/errors';
import { execa } from 'execa';
import { OperationalError } from '../lib/errors.ts';
import type { Logger } from './runtime.ts';

/** Where and how to run a command of a stage that may do whatever the agent wrote. All paths are absolute. */
export interface IsolationOptions {
  /** The worktree: the working folder, writable. */
  folder: string;
  /** Callboard's data directory: hidden, except for the worktree. */
  dataDir: string;
  /** Readable, even within a hidden folder (for instance a repository below `/tmp`). */
  readable: readonly string[];
  /** Further writable paths, for instance caches of package managers. */
  writable: readonly string[];
  /** Writable paths within the data directory. */
  ownWritable?: readonly string[];
  /** Further hidden paths, for instance files with tokens. */
  hidden: readonly string[];
  /** `none`: only its own loopback. `host`: this machine's network with all its ports, Callboard's included. */
  network: 'none' | 'host';
}

/** What to mount on this machine as it is now: existing paths only, symbolic links resolved. */
export interface MountLayout extends Pick<IsolationOptions, 'folder' | 'dataDir' | 'network'> {
  /** Folders that are replaced by empty, writable ones. */
  emptied: readonly string[];
  readable: readonly string[];
  writable: readonly string[];
  ownWritable: readonly string[];
  /** Files of the worktree that decide what git and Claude Code run: read-only. */
  kept: readonly string[];
  hiddenFolders: readonly string[];
  hiddenFiles: readonly string[];
}

const each = (option: string, paths: readonly string[]) => paths.flatMap((path) => [option, path, path]);
const over = (source: readonly string[], paths: readonly string[]) => paths.flatMap((path) => [...source, path]);

/** The arguments of `bwrap`. Order matters: a later mount covers an earlier one. */
const bubblewrapArguments = (place: MountLayout): string[] => [
  // Hides other processes and their shared resources. No network except its own loopback, unless requested.
  ...['--unshare-user', '--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try'],
  ...(place.network === 'none' ? ['--unshare-net'] : []),
  // No capabilities, no access to the terminal, and no process survives the parent.
  ...['--cap-drop', 'ALL', '--new-session', '--die-with-parent'],
  // The machine, read-only, with its own devices and processes.
  ...['--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc'],
  // Otherwise root could set the program that the kernel runs, outside, when a process crashes (tried).
  ...['--ro-bind', '/proc/sys', '/proc/sys'],
  // These contain the sockets of agents, D-Bus and Docker, and other people's temporary files.
  ...over(['--tmpfs'], place.emptied),
  ...each('--ro-bind', place.readable),
  ...each('--bind', place.writable),
  // Callboard's data directory, with only this worktree, and what the caller names, in it.
  ...['--tmpfs', place.dataDir],
  ...each('--bind', place.ownWritable),
  ...['--bind', place.folder, place.folder],
  ...each('--ro-bind', place.kept),
  // Sockets in other folders, and the caller's hidden paths.
  ...over(['--tmpfs'], place.hiddenFolders),
  ...over(['--ro-bind', '/dev/null'], place.hiddenFiles),
  ...['--chdir', place.folder],
];

/**
 * A `bwrap` that passes on its arguments, except those of Claude Code that cause problems (2.1.330, all tried). Everything
 * behind `--` is the command, and is not changed.
 *
 * - A path that is bound to itself may be gone by now: sessions of one repository share its `.git`, and commands would fail at
 *   random. Such a path is skipped.
 * - `config.lock` is not masked. Outside, the mask would be an empty file that keeps everybody from writing the configuration
 *   while the command runs. The configuration itself stays protected: a bound file cannot be replaced.
 * - A branch is not masked. Git may have packed it since the session began, and an empty file would hide that.
 * - For root, kernel settings in the new `/proc` become read-only. Otherwise a command could set the program that the kernel
 *   runs, outside, when a process crashes.
 */
const scriptFor = (bwrap: string, isRoot: boolean) => `#!/bin/sh
left=$#
while [ "$left" -gt 0 ]; do
  case "$1" in
    --) break ;;
    --setenv | --ro-bind) taken=3 ;;
    --proc) taken=2 ;;
    *) taken=1 ;;
  esac
  case "$1 $2 $3" in
    '--ro-bind '*' '*.git/config.lock | '--ro-bind '*' '*.git/*/config.lock | '--ro-bind /dev/null '*.git/refs/*) ;;
    '--ro-bind / /') set -- "$@" "$1" "$2" "$3" ;;
    "--ro-bind $2 $2") set -- "$@" --ro-bind-try "$2" "$3" ;;
${isRoot ? `    '--proc /proc '*) set -- "$@" --proc /proc --ro-bind /proc/sys /proc/sys ;;\n` : ''}    *)
      case "$taken" in
        3) set -- "$@" "$1" "$2" "$3" ;;
        2) set -- "$@" "$1" "$2" ;;
        *) set -- "$@" "$1" ;;
      esac
      ;;
  esac
  shift "$taken"
  left=$((left - taken))
done
while [ "$left" -gt 0 ]; do
  set -- "$@" "$1"
  shift
  left=$((left - 1))
done
exec '${bwrap.replaceAll("'", "'\\''")}' "$@"
`;

/**
 * Returns a search path that begins with a folder with such a `bwrap`; without bubblewrap, the path unchanged.
 * @param folder created if missing; holds nothing else
 * @throws a system error when it cannot be written
 */
export async function searchPathForSandbox(path: string, folder: string, isRoot: boolean): Promise<string> {
  const own = path.split(delimiter).filter((entry) => isAbsolute(entry) && entry !== folder);
  const bwrap = await firstExecutable(own.map((entry) => join(entry, 'bwrap')));
  if (bwrap === null) return path;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await writeIfChanged(join(folder, 'bwrap'), scriptFor(bwrap, isRoot));
  return [folder, path].join(delimiter);
}

/**
 * Returns the environment for `claude` and for checks of its sandbox, with such a search path. Never rejects: if the file
 * cannot be written, a check of the sandbox reports that it is open.
 */
export async function environmentForSandbox(
  env: Readonly<Record<string, string>>,
  folder: string,
  log: Logger,
): Promise<Record<string, string>> {
  const { PATH } = env;
  if (PATH === undefined) return { ...env };
  const path = searchPathForSandbox(PATH, folder, process.geteuid?.() === 0).catch((error: unknown) => {
    log.warn({ err: error }, 'the bwrap wrapper could not be written; Claude Code uses bwrap directly');
    return PATH;
  });
  return { ...env, PATH: await path };
}

async function firstExecutable(files: readonly string[]): Promise<string | null> {
  for (const file of files) {
    const isThere = await access(file, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isThere) return file;
  }
  return null;
}

/** Replaces the file atomically: a running session may be starting it. */
async function writeIfChanged(file: string, text: string): Promise<void> {
  if ((await readFile(file, 'utf8').catch(() => null)) === text) return;
  await writeFile(`${file}.new`, text, { mode: 0o700 });
  await rename(`${file}.new`, file);
}

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

/** Folders with sockets and other people's files on every Linux. */
const EMPTIED = ['/run', '/var/run', '/tmp', '/var/tmp'];
/** Paths in these folders that programs need: the system itself on NixOS, and the name servers. */
const NEEDED = ['/run/current-system', '/etc/resolv.conf'];
/** Read-only even in a writable worktree: they decide what others run there. */
const SAVED = ['.git', '.claude', '.mcp.json'];

/**
 * Resolves the options against this machine.
 * @throws OperationalError `isolation_place` when the worktree or the data directory does not exist
 */
async function resolveLayout({ folder, dataDir, network, ...place }: IsolationOptions): Promise<MountLayout> {
  const own = { folder: await required(folder), dataDir: await required(dataDir), network };
  const emptied = await present(EMPTIED);
  const readable = await present(place.readable);
  const writable = await present(place.writable);
  const ownWritable = await present(place.ownWritable ?? []);
  const shown = [...readable, ...writable];
  const sockets = (await listeningSockets()).filter(
    (path) => isWithin(path, shown) || !isWithin(path, [...emptied, own.dataDir, own.folder]),
  );
  const hidden = await present([...place.hidden, ...sockets]);
  const isFolder = await Promise.all(hidden.map(async (path) => (await stat(path)).isDirectory()));
  return {
    ...own,
    emptied,
    readable: [...(await present(NEEDED)).filter((path) => isWithin(path, emptied)), ...readable],
    writable,
    ownWritable,
    kept: await present(SAVED.map((name) => join(own.folder, name))),
    hiddenFolders: hidden.filter((_, index) => isFolder[index]),
    hiddenFiles: hidden.filter((_, index) => !isFolder[index]),
  };
}

const isWithin = (path: string, folders: readonly string[]) =>
  folders.some((folder) => path === folder || path.startsWith(`${folder}/`));

/** The real paths, without duplicates. Paths that do not exist, or may not be accessed, are omitted. */
async function present(paths: readonly string[]): Promise<string[]> {
  const found = await Promise.all(paths.map((path) => realpath(path).catch(() => null)));
  return [...new Set(found.filter((path) => path !== null))];
}

async function required(path: string): Promise<string> {
  const [found] = await present([path]);
  if (found === undefined) throw new OperationalError('isolation_place', `${path} does not exist.`);
  return found;
}

/** Unix sockets with a path. Even on a read-only file system a process can connect to them. */
async function listeningSockets(): Promise<string[]> {
  const lines = (await readFile('/proc/net/unix', 'utf8')).split('\n').slice(1);
  return lines.map((line) => line.trim().split(/\s+/).slice(7).join(' ')).filter((path) => path.startsWith('/'));
}
