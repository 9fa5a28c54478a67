/** A file with its device and inode: a mount over it in a sandbox has other numbers. */
export interface FileTarget {
  path: string;
  id: string;
}

/** A process with its start time: in another process namespace a different process may have its pid. */
export interface ProcessTarget {
  pid: number;
  startTime: string;
}

/** All targets of the attack script. It knows every location, as an attacker who knows Callboard well would. */
export interface Targets {
  /** Files of the session that runs the script. */
  fifo: FileTarget;
  spool: FileTarget;
  worktree: string;
  claude: ProcessTarget;
  /** Files of another session, whose folder lies beside this session's folder. */
  other: { fifo: FileTarget; worktree: string; temporary: FileTarget };
  store: FileTarget;
  /** The data directory and folders in it. */
  folders: FileTarget[];
  home: string;
  repo: string;
  /** Callboard's own processes and ports. */
  callboard: ProcessTarget[];
  ports: number[];
  /** Unix sockets that answer on the person's behalf. */
  sockets: string[];
  /** Files that contain `secret`. */
  secretFiles: string[];
  secret: string;
  /** The lines to write into the FIFO and the spool. */
  inputLine: string;
  outputLine: string;
  /** Appears in the command line of every process left running. */
  marker: string;
}

/**
 * `reached`: it worked. `refused`: it did not. `missing`: a tool it needs is not installed, so nothing was tried. `started`: the caller
 * must check, since the script has ended by then.
 */
export type Outcome = { result: 'reached' | 'refused' | 'missing' | 'started'; detail: string };

export type Attack = (targets: Targets) => Outcome | Promise<Outcome>;
