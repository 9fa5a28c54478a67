import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { identify } from '@callboard/runtime/process-identity';
import { onTestFinished } from 'vitest';
import { eventually, waitFor } from '../../../test-support/until.ts';

/** On a busy machine a program may first bundle itself, or run the doctor's trials. */
const MAX_RUN_MS = 60_000;

/** A real process under test. */
export interface Program {
  readonly child: ChildProcess;
  readonly pid: number;
  /** Its output so far. */
  stdout(): string;
  stderr(): string;
  /** Resolves when it has ended and all output was read, with its exit code or the signal that ended it. */
  readonly ended: Promise<number | string>;
}

/** Starts a program; the test fails if it leaves the program running. @param input what is piped in; nothing if left out */
export function runProgram(
  command: string,
  args: string[],
  env: NodeJS.ProcessEnv = process.env,
  input?: string,
): Program {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'], env });
  child.stdin.on('error', () => undefined); // it may end without reading
  child.stdin.end(input);
  let out = '';
  let err = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text;
  });
  const ended = once(child, 'close').then(([code, signal]): number | string => signal ?? code);
  onTestFinished(() => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    throw new Error(`${[command, ...args].join(' ')} was left running`);
  });
  if (child.pid === undefined) throw new Error(`${command} cannot be started`);
  const said = () => `${out}${err}`;
  return {
    child,
    pid: child.pid,
    stdout: () => out,
    stderr: () => err,
    get ended() {
      return waitFor(`the end of ${[command, ...args].join(' ')}`, ended, { withinMs: MAX_RUN_MS, lastSeen: said });
    },
  };
}

/** The path of a program in `fixtures`. */
export const fixture = (name: string): string => fileURLToPath(new URL(`fixtures/${name}`, import.meta.url));

/** Resolves when a process is gone. */
export const untilGone = (pid: number): Promise<void> =>
  eventually(async () => {
    if ((await identify(pid)) !== null) throw new Error(`process ${pid} is still there`);
  });
