import { homedir, hostname } from 'node:os';
import { performance } from 'node:perf_hooks';
import type { SandboxSupport } from '@callboard/contract';
import type { HandshakeLimits } from '@callboard/orchestrator/doctor';
import type { Environment } from '@callboard/runtime/environment';
import { ask } from './ask.ts';
import { besidePackage } from './package-files.ts';
import { listenForStop, type StopSignals } from './stop-signals.ts';
import type { RestartTiming } from './supervisor/kept-server.ts';
import type { ServerEntries } from './supervisor/supervisor.ts';
import { type TerminalInput, terminalInput } from './terminal-input.ts';
import { listenForKeys } from './terminal-keys.ts';

/** Ends the sessions of a data directory (`@callboard/orchestrator/end-all-sessions`). */
export type EndAllSessions = (
  dataDir: string,
  options: { log: (line: string) => void },
) => Promise<{ ended: number; failed: string[] }>;

/** The outside world of the commands. Tests replace it. */
export interface Platform {
  env: Environment;
  /** The user's folder, which relative paths on the command line start from. */
  cwd: string;
  home: string;
  platform: NodeJS.Platform;
  /** Whether stdout is a terminal, with a person in front of it. */
  isTerminal: boolean;
  /** Writes a line to stdout, for the output that the user asked for. */
  out(line: string): void;
  /** Draws a line that replaces the one before, or removes it (null). Null if stderr is not a terminal. */
  progress: ((line: string | null) => void) | null;
  /** Writes a line to stderr, for everything else that people read. */
  err(line: string): void;
  now(): Date;
  /** The Node that runs this. */
  node: { readonly version: string; readonly path: string };
  /** Returns the bytes that the machine, or the limit on this process, can still provide. */
  availableMemory(): number;
  listenForStop(): StopSignals;
  /**
   * Calls `onKey` for each key pressed in the terminal; `isAlone` is false for a part of what was pasted, and of keys that send several
   * characters. Returns how to stop, or null if there is no terminal.
   */
  listenForKeys(onKey: (key: string, isAlone: boolean) => void): (() => void) | null;
  /** What is typed, or piped in. */
  input: TerminalInput;
  hostname: string;
  /** How many columns stdout has; 80 if it is no terminal. */
  columns(): number;
  /** Writes text to stdout as it is. */
  write(text: string): void;
  /** Returns a signal that aborts when nobody reads stdout any more: the program behind the pipe has ended, for example. */
  outputClosed(): AbortSignal;
  /** Asks the person at the terminal; null if there is none. Rejects when the signal aborts. */
  ask(question: string, signal: AbortSignal): Promise<string | null>;
  /** Runs a command in Claude Code's sandbox, with the programs of this environment. */
  inspectSandbox(env: Environment): Promise<SandboxSupport>;
  /** The programs that `start` supervises. */
  servers: ServerEntries;
  /** The supervisor's timing, if not the default. */
  timing?: RestartTiming;
  /** The limits of the handshake with `claude`, if not the default. */
  handshakeLimits?: HandshakeLimits;
  endAllSessions: EndAllSessions;
}

/** Returns the edges of a real process. */
export function nodePlatform(process: NodeJS.Process): Platform {
  return {
    env: process.env,
    cwd: process.env.INIT_CWD || process.cwd(), // npm runs a script in the package's folder and keeps the user's here
    home: homedir(),
    platform: process.platform,
    isTerminal: process.stdout.isTTY === true,
    progress: process.stderr.isTTY ? (line) => void process.stderr.write(`\r\x1b[K${line ?? ''}`) : null,
    out: (line) => void process.stdout.write(`${line}\n`),
    err: (line) => void process.stderr.write(`${line}\n`),
    now: () => new Date(),
    node: { version: process.versions.node, path: process.execPath },
    availableMemory: () => process.availableMemory(),
    listenForStop: () => listenForStop(process, () => performance.now()),
    listenForKeys: (onKey) => listenForKeys(process, onKey),
    input: terminalInput(process),
    hostname: hostname(),
    columns: () => (process.stdout.isTTY ? process.stdout.columns || 80 : 80),
    write: (text) => void process.stdout.write(text),
    outputClosed: () => {
      const closed = new AbortController();
      process.stdout.once('error', () => closed.abort());
      return closed.signal;
    },
    ask: (question, signal) => ask(process, question, signal),
    inspectSandbox: async (env) => {
      const { inspectSandbox } = await import('@callboard/orchestrator/doctor');
      return inspectSandbox(env, process.geteuid?.() === 0);
    },
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
