import type { EventEmitter } from 'node:events';
import { readFileSync } from 'node:fs';
import { homedir, hostname } from 'node:os';
import { performance } from 'node:perf_hooks';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { SandboxSupport } from '@callboard/contract';
import type { HandshakeLimits } from '@callboard/orchestrator/doctor';
import type { Environment } from '@callboard/runtime/environment';
import type { RestartTiming } from './supervisor/server-process.ts';
import type { ServerEntries } from './supervisor/supervisor.ts';

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
  /** Asks the person at the terminal for a yes or no; null if there is no terminal. Rejects when the signal aborts. */
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

/**
 * Asks the person at the terminal.
 * @returns the line they type; 'no' if they close the input; null if there is no terminal
 * @throws the signal's reason if it aborts
 */
async function ask({ stdin, stderr }: NodeJS.Process, question: string, signal: AbortSignal): Promise<string | null> {
  signal.throwIfAborted();
  if (!stdin.isTTY || !stderr.isTTY) return null;
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const onAbort = () => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  stderr.write(question);
  // Not as a terminal: the system then handles Ctrl-C and the editing of the line.
  const lines = createInterface({ input: stdin, terminal: false });
  lines.once('line', resolve).once('close', () => resolve('no'));
  try {
    return await promise;
  } finally {
    signal.removeEventListener('abort', onAbort);
    lines.close();
  }
}

// This file is as deep in `src` as its bundle is in `dist`. No other file may rely on its own location.

/** Returns the path of a file of this package. */
export const inPackage = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url));

/** Returns the path of a file of another package of Callboard. */
const besidePackage = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));

/** The signals that stop a long-running command. */
export interface StopSignals {
  /** Aborts on the first Ctrl-C (or SIGTERM, SIGHUP, or the end of the launcher): stop in order. */
  readonly stop: AbortSignal;
  /** Aborts on the second one: end at once. */
  readonly kill: AbortSignal;
  /** Stops listening: the signals have their default effect again. */
  release(): void;
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * One press of Ctrl-C arrives several times: from the terminal, which signals all its processes, and from npm and the
 * launcher, which pass it on. A signal this soon after the first belongs to the same press.
 */
const SAME_PRESS_MS = 500;

/**
 * Listens for signals to a process.
 * @param now milliseconds on a monotonic clock
 */
export function listenForStop(source: EventEmitter, now: () => number): StopSignals {
  const stop = new AbortController();
  const kill = new AbortController();
  let firstAt: number | null = null;
  const onSignal = () => {
    if (firstAt === null) {
      firstAt = now();
      stop.abort();
    } else if (now() - firstAt >= SAME_PRESS_MS) kill.abort();
  };
  const onDisconnect = () => {
    if (firstAt === null) onSignal();
  };
  for (const signal of SIGNALS) source.on(signal, onSignal);
  source.on('disconnect', onDisconnect);
  return {
    stop: stop.signal,
    kill: kill.signal,
    release: () => {
      for (const signal of SIGNALS) source.removeListener(signal, onSignal);
      source.removeListener('disconnect', onDisconnect);
    },
  };
}

/** What a person types, or another program pipes in. */
export interface TerminalInput {
  /** Whether a person types it. */
  readonly isTerminal: boolean;
  /** Resolves with all that is piped in. */
  read(): Promise<string>;
  /**
   * Asks on the terminal. Resolves with the line; null if the person ends the input (Ctrl-D) or cancels (Ctrl-C). What was typed before
   * the question had stood for half a second answers nothing.
   */
  ask(question: string): Promise<string | null>;
}

const CHECK_INTERVAL_MS = 500;

/** Returns the input of a process. */
const terminalInput = ({ stdin, stderr }: NodeJS.Process): TerminalInput => ({
  isTerminal: stdin.isTTY === true,
  async read() {
    let text = '';
    for await (const part of stdin.setEncoding('utf8')) text += String(part);
    return text;
  },
  async ask(question) {
    stderr.write(question);
    await dropTyped(stdin);
    const lines = createInterface({ input: stdin, output: stderr });
    try {
      return await new Promise<string | null>((resolve) => {
        lines.once('SIGINT', () => resolve(null));
        lines.once('close', () => resolve(null));
        lines.question('', resolve);
      });
    } finally {
      lines.close();
    }
  },
});

async function dropTyped(stdin: NodeJS.ReadStream): Promise<void> {
  const drop = () => undefined;
  stdin.setRawMode(true);
  stdin.on('data', drop).resume();
  await sleep(CHECK_INTERVAL_MS);
  stdin.off('data', drop).pause();
  stdin.setRawMode(false);
}

/** A terminal in raw mode no longer sends the signals of these keys to the processes in its foreground. */
const KEY_SIGNALS: Readonly<Record<string, NodeJS.Signals>> = {
  '\x03': 'SIGINT',
  '\x1a': 'SIGTSTP',
  '\x1c': 'SIGQUIT',
};

/**
 * Calls `onKey` for each key pressed in the terminal, without Enter, and whether it came alone. Ctrl-C, Ctrl-Z and Ctrl-\ keep their effect. In the
 * background it does not listen: the system stops a background process that reads from the terminal.
 * @returns how to stop listening; null if there is no terminal in the foreground
 */
function listenForKeys(process: NodeJS.Process, onKey: (key: string, isAlone: boolean) => void): (() => void) | null {
  const { stdin } = process;
  if (!stdin.isTTY || !isInForeground()) return null;

  const listen = () => {
    stdin.setRawMode(true);
    stdin.resume();
  };
  const onData = (data: Buffer) => {
    const keys = [...data.toString()];
    for (const key of keys) {
      const signal = KEY_SIGNALS[key];
      if (signal === undefined) onKey(key, keys.length === 1);
      else send(signal);
    }
  };
  const send = (signal: NodeJS.Signals) => {
    if (signal === 'SIGTSTP') stdin.setRawMode(false);
    process.kill(0, signal);
  };
  /** After Ctrl-Z: `fg`, or `bg`. */
  const onContinue = () => {
    if (isInForeground()) listen();
    else stdin.pause();
  };
  stdin.on('data', onData);
  process.on('SIGCONT', onContinue);
  listen();
  return () => {
    process.removeListener('SIGCONT', onContinue);
    stdin.removeListener('data', onData);
    if (isInForeground()) stdin.setRawMode(false);
    stdin.pause();
    stdin.unref();
  };
}

/** Whether the terminal's keys go to this process group. Assumed if the system does not tell. */
function isInForeground(): boolean {
  try {
    const stat = readFileSync('/proc/self/stat', 'utf8');
    const [, , group, , , foreground] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return group === foreground;
  } catch {
    return true;
  }
}
