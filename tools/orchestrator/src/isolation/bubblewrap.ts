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
export const bubblewrapArguments = (place: MountLayout): string[] => [
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
