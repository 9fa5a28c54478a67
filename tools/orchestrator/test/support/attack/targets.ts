/** A file, with its device and inode: what lies over it in a sandbox has others. */
export interface FileTarget {
  path: string;
  id: string;
}

/** A process, with its start time: in a process namespace of its own another one may have its number. */
export interface ProcessTarget {
  pid: number;
  startTime: string;
}

/** All that the attack script goes for. It is told where everything is, as an attacker who knows Callboard well would be. */
export interface Targets {
  /** Of the session that the script runs in. */
  fifo: FileTarget;
  spool: FileTarget;
  worktree: string;
  claude: ProcessTarget;
  /** The folder of another session, whose FIFO, spool and worktree lie beside ours. */
  other: { fifo: FileTarget; worktree: string; temporary: FileTarget };
  store: FileTarget;
  /** The data directory and folders in it. */
  folders: FileTarget[];
  home: string;
  repo: string;
  /** Callboard's own processes and ports. */
  callboard: ProcessTarget[];
  ports: number[];
  /** Unix sockets that answer for the person. */
  sockets: string[];
  /** Files that hold `secret`. */
  secretFiles: string[];
  secret: string;
  /** What is written into the FIFO and the spool. */
  inputLine: string;
  outputLine: string;
  /** In the command line of what is left running. */
  marker: string;
}

/**
 * `reached`: it worked. `refused`: it did not. `missing`: a tool that it needs is not installed, so nothing was tried. `started`: whoever
 * runs the script has to look, since the script has ended by then.
 */
export type Outcome = { result: 'reached' | 'refused' | 'missing' | 'started'; detail: string };

export type Attack = (targets: Targets) => Outcome | Promise<Outcome>;
