import { homedir } from 'node:os';
import { performance } from 'node:perf_hooks';
import type { HandshakeLimits } from '@callboard/orchestrator/doctor';
import { besidePackage } from './package-files.ts';
import { listenForStop, type StopSignals } from './stop-signals.ts';
import type { KeptServerTiming } from './supervisor/kept-server.ts';
import type { ServerEntries } from './supervisor/supervisor.ts';
import { listenForKeys } from './terminal-keys.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** What ends the sessions of a data directory, as the orchestrator package offers it. */
export type EndAllSessions = (
  dataDir: string,
  options: { log: (line: string) => void },
) => Promise<{ ended: number; failed: string[] }>;

/** The outside world, as far as commands see it. */
export interface Edges {
  env: Environment;
  /** The folder the user stood in; relative paths on the command line start there. */
  cwd: string;
  home: string;
  platform: NodeJS.Platform;
  /** Whether stdout is a terminal, with a person before it. */
  isTerminal: boolean;
  /** A line on stdout: what was asked for. */
  out(line: string): void;
  /** A line on stderr: everything else that is said to people. */
  err(line: string): void;
  now(): Date;
  /** The Node that runs this. */
  node: { readonly version: string; readonly path: string };
  /** Bytes that the machine, or the limit set on us, still has to give. */
  availableMemory(): number;
  listenForStop(): StopSignals;
  /** Hears each key pressed in our terminal; returns how to stop, or null where there is no terminal. */
  listenForKeys(onKey: (key: string) => void): (() => void) | null;
  /** The programs that `start` supervises. */
  servers: ServerEntries;
  /** How patient it is with them, if not as usual. */
  timing?: KeptServerTiming;
  /** How patient `doctor` is with `claude`, if not as usual. */
  handshakeLimits?: HandshakeLimits;
  endAllSessions: EndAllSessions;
}

/** The edges of a real process. */
export function nodeEdges(process: NodeJS.Process): Edges {
  return {
    env: process.env,
    cwd: process.env.INIT_CWD || process.cwd(), // npm runs a script in the package's folder and keeps the user's here
    home: homedir(),
    platform: process.platform,
    isTerminal: process.stdout.isTTY === true,
    out: (line) => void process.stdout.write(`${line}\n`),
    err: (line) => void process.stderr.write(`${line}\n`),
    now: () => new Date(),
    node: { version: process.versions.node, path: process.execPath },
    availableMemory: () => process.availableMemory(),
    listenForStop: () => listenForStop(process, () => performance.now()),
    listenForKeys: (onKey) => listenForKeys(process, onKey),
    servers: {
      orchestrator: besidePackage('orchestrator/dist/main.js'),
      webServer: besidePackage('web-server/dist/server/main.js'),
    },
    endAllSessions: async (dataDir, options) => {
      const { endAllSessions } = await import('@callboard/orchestrator/end-all-sessions');
      return endAllSessions(dataDir, options);
    },
  };
}
