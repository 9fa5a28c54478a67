/** Where and how a command of a stage runs, which may do whatever the agent wrote. All paths are absolute. */
export interface Place {
  /** The worktree: it works here, and may write here. */
  folder: string;
  /** Callboard's own: hidden, save for the worktree. */
  dataDir: string;
  /** Shown, to be read, although it lies in a place that is hidden (a repository below `/tmp`, say). */
  readable: readonly string[];
  /** What else it may write to: the caches of package managers, say. */
  writable: readonly string[];
  /** What else it may not see: files with tokens, say. */
  hidden: readonly string[];
  /** `none`: a loopback of its own. `host`: this machine's network with all its ports, Callboard's included. */
  network: 'none' | 'host';
}

/** A place on this machine as it is now: what is there of it, links followed. */
export interface Layout extends Pick<Place, 'folder' | 'dataDir' | 'network'> {
  /** Folders that are empty inside, and may be filled there. */
  emptied: readonly string[];
  readable: readonly string[];
  writable: readonly string[];
  /** Files of the worktree that decide what git and Claude Code run. */
  kept: readonly string[];
  hiddenFolders: readonly string[];
  hiddenFiles: readonly string[];
}

const each = (option: string, paths: readonly string[]) => paths.flatMap((path) => [option, path, path]);
const over = (source: readonly string[], paths: readonly string[]) => paths.flatMap((path) => [...source, path]);

/** The arguments of `bwrap`. What comes later lies over what comes before, so the order counts. */
export const bubblewrapArguments = (place: Layout): string[] => [
  // Other processes, and what they share, are out of sight. No network but a loopback of its own, unless wanted.
  ...['--unshare-user', '--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try'],
  ...(place.network === 'none' ? ['--unshare-net'] : []),
  // No rights over the namespaces; no terminal to type into; nothing that lives on.
  ...['--cap-drop', 'ALL', '--new-session', '--die-with-parent'],
  // The machine, read-only, with devices and processes of its own.
  ...['--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc'],
  // As root it could otherwise name the program that the kernel runs, outside, when a process crashes (tried).
  ...['--ro-bind', '/proc/sys', '/proc/sys'],
  // Where sockets of agents, D-Bus and docker lie, and other people's temporary files.
  ...over(['--tmpfs'], place.emptied),
  ...each('--ro-bind', place.readable),
  ...each('--bind', place.writable),
  // Callboard's data, with the one worktree in it.
  ...['--tmpfs', place.dataDir],
  ...['--bind', place.folder, place.folder],
  ...each('--ro-bind', place.kept),
  // Sockets that lie elsewhere, and what the caller named.
  ...over(['--tmpfs'], place.hiddenFolders),
  ...over(['--ro-bind', '/dev/null'], place.hiddenFiles),
  ...['--chdir', place.folder],
];
