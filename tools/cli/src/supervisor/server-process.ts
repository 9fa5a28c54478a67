import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import type { Environment } from '@callboard/runtime/environment';
import { messageOf } from '@callboard/runtime/errors';
import { FromServer, type StartFailure, type ToServer } from '@callboard/runtime/supervision';
import { CliError } from '../errors.ts';

/** A login of a browser, or of a terminal of this name; `heldFile` as in `ToServer`. */
export interface WantedLogin {
  readonly terminal: string | null;
  readonly heldFile: string | null;
}

/** One process of a server, from its start to its end. */
export interface ServerProcess {
  /** Resolves with the cause in words once the process is gone and all its messages are read. Never rejects. */
  readonly ended: Promise<string>;
  /**
   * Makes a one-time login code, or logs in a terminal of this name and returns its token; null if the process ended first. Only
   * the orchestrator can.
   * @throws CliError in the words of the server, if it could not make one
   */
  createLogin(login: WantedLogin): Promise<string | null>;
  kill(signal: NodeJS.Signals): void;
}

export interface ServerProcessDeps {
  /** Absolute path of the program. */
  readonly entry: string;
  /** Sent over the IPC pipe at once: it may hold secrets. */
  readonly config: unknown;
  /** Sent after the configuration, once it resolves. If it rejects nothing is sent: whoever made it reports why. */
  readonly later?: Promise<ToServer> | undefined;
  readonly env: Environment;
  readonly onReady: (port: number) => void;
  readonly onFailed: (failure: StartFailure) => void;
  /** Somebody has logged in with a code: its SHA-256, in hex. */
  readonly onLoginUsed: (codeSha256: string) => void;
  /** A line for the terminal. */
  readonly onNotice: (text: string) => void;
  readonly onUnexpected: (message: string) => void;
}

/**
 * Nobody may attach a debugger. The young generation of the heap is small: with Node's default size each server takes up to
 * 50 MB more and is hardly faster.
 */
const NODE_FLAGS = ['--disable-sigusr1', '--max-semi-space-size=2'];

/** Starts a server on the Node that runs this process. */
export function startServerProcess(deps: ServerProcessDeps): ServerProcess {
  const logins = new Map<string, PromiseWithResolvers<string | null>>();
  const child = spawnServer(deps);
  if (child instanceof Error) return neverStarted(child);

  const ended = endOf(child).finally(() => {
    for (const login of logins.values()) login.resolve(null);
    logins.clear();
  });
  // If a message cannot be sent the process is ending, which `ended` reports.
  const send = (message: ToServer) => void (child.connected && child.send(message, () => {}));
  child.on('message', (raw) => {
    const parsed = FromServer.safeParse(raw);
    if (!parsed.success) {
      deps.onUnexpected(JSON.stringify(raw));
      return;
    }
    const message = parsed.data;
    switch (message.type) {
      case 'ready':
        return deps.onReady(message.port);
      case 'failed':
        return deps.onFailed(message);
      case 'login-created':
        logins.get(message.id)?.resolve(message.code);
        logins.delete(message.id);
        return;
      case 'login-used':
        return deps.onLoginUsed(message.codeSha256);
      case 'notice':
        return deps.onNotice(message.text);
      case 'login-failed':
        logins.get(message.id)?.reject(new CliError(`no login could be made: ${message.message}`));
        logins.delete(message.id);
    }
  });
  send({ type: 'configure', config: deps.config });
  deps.later?.then(send, () => {});
  return {
    ended,
    createLogin: (wanted) => {
      if (!child.connected) return ended.then(() => null);
      const login = Promise.withResolvers<string | null>();
      const id = randomUUID();
      logins.set(id, login);
      login.promise.catch(() => {}); // nobody may be waiting any longer
      send({ type: 'create-login', id, ...wanted });
      return login.promise;
    },
    kill: (signal) => void child.kill(signal),
  };
}

function spawnServer({ entry, env }: ServerProcessDeps): ChildProcess | Error {
  try {
    return spawn(process.execPath, [...NODE_FLAGS, entry], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      env: { ...env },
    });
  } catch (error) {
    return new Error(messageOf(error)); // Node emits some failures as an event and throws others
  }
}

/** `close` comes when the process is gone and its pipe is read to the end: no message is lost. */
function endOf(child: ChildProcess): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  child.on('error', (error) => {
    if (child.pid === undefined) resolve(`could not be started: ${error.message}`);
  });
  child.once('close', (code, signal) => resolve(signal === null ? `exit code ${code}` : `signal ${signal}`));
  return promise;
}

const neverStarted = (error: Error): ServerProcess => ({
  ended: Promise.resolve(`could not be started: ${error.message}`),
  createLogin: () => Promise.resolve(null),
  kill: () => {},
});
