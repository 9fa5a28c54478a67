import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { dirname, join, sep } from 'node:path';
import { hostProgramsOf } from '@callboard/orchestrator/program-host';
import { type Environment, serverEnvironment } from '@callboard/runtime/environment';
import { messageOf } from '@callboard/runtime/errors';
import { settlesWithin } from '@callboard/runtime/settles-within';
import { FromServer, type StartFailure, type ToServer } from '@callboard/runtime/supervision';
import { type BackoffLimits, createBackoff, orAborted, pause } from '@callboard/runtime/waits';
import { CliError, ServerStartError } from '../errors.ts';

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
  /** Lost if the process is ending, which `ended` reports. */
  send(message: ToServer): void;
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
  /** A person wants to see both servers crash. */
  readonly onCrash: () => void;
  /** It was started in this repository, which is no project. */
  readonly onRepositoryFound: (path: string) => void;
  /** A line for the terminal. */
  readonly onNotice: (text: string) => void;
  readonly onUnexpected: (message: string) => void;
}

/**
 * Nobody may attach a debugger. The young generation of the heap is small: with Node's default size each server takes up to
 * 50 MB more and is hardly faster.
 */
const NODE_FLAGS = ['--disable-sigusr1', '--max-semi-space-size=1'];

/** Starts a server on the Node that runs this process. */
function startServerProcess(deps: ServerProcessDeps): ServerProcess {
  const logins = new Map<string, PromiseWithResolvers<string | null>>();
  const child = spawnServer(deps);
  if (child instanceof Error) return neverStarted(child);

  const ended = endOf(child).finally(() => {
    for (const login of logins.values()) login.resolve(null);
    logins.clear();
  });
  const send = (message: ToServer) => void (child.connected && child.send(message, () => {}));
  const startsProgram = hostProgramsOf(child); // git and `claude`, for the orchestrator: its own event loop would stop for them
  child.on('message', (raw) => {
    if (startsProgram(raw)) return;
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
      case 'crash':
        return deps.onCrash();
      case 'repository-found':
        return deps.onRepositoryFound(message.path);
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
    send,
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

/** Beside a bundle; a server that runs from its sources, as in tests, has none. */
const compileCacheOf = (entry: string): string | undefined =>
  entry.includes(`${sep}dist${sep}`) ? join(dirname(entry), 'compile-cache') : undefined;

function spawnServer({ entry, env }: ServerProcessDeps): ChildProcess | Error {
  try {
    return spawn(process.execPath, [...NODE_FLAGS, entry], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      env: { ...serverEnvironment(env, compileCacheOf(entry)) },
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
  send: () => {},
  kill: () => {},
});

/** A server that is restarted whenever it ends, until it is stopped. */
export interface SupervisedServer {
  /**
   * Resolves with its port once it is up, at once if it already is. Rejects with ServerStartError if its first start
   * failed for good, or with the signal's reason.
   */
  ready(signal: AbortSignal): Promise<number>;
  /**
   * Makes a one-time login code, or the token of a terminal of this name, in whichever process of the server is up.
   * @throws CliError if that process could not make one, or the signal's reason
   */
  createLogin(wanted: WantedLogin, signal: AbortSignal): Promise<string>;
  /** Sends a message to whichever process of the server runs. */
  send(message: ToServer): void;
  /** Why the server is down and cannot start again before a person mends something, in words; null if it is up, or just restarting. */
  problem(): string | null;
  /** Starts no new process from now on. */
  retire(): void;
  /** Sends SIGTERM, and SIGKILL after the grace. Resolves when no process is left and none will start. */
  stop(): Promise<void>;
  /** Sends SIGKILL at once. A new process starts. */
  crash(): void;
  /** Sends SIGKILL at once. No new process starts. */
  kill(): void;
}

export interface SupervisedServerDeps {
  /** The server's name in messages. */
  readonly name: string;
  /** What happens while it cannot start again, as a whole sentence. */
  readonly meanwhile: string;
  /** Absolute path of the program. */
  readonly entry: string;
  /** The port to ask for; 0 for any. Once the server has a port, it keeps it. */
  readonly port: number;
  readonly configOn: (port: number) => unknown;
  /** Sent to each of its processes after the configuration, once it is known. */
  readonly later?: Promise<ToServer>;
  readonly env: Environment;
  readonly log: (line: string) => void;
  readonly timing: RestartTiming;
  /** For this long, a fatal failure of the first start is retried all the same. */
  readonly patienceMs: number;
  /** Somebody has logged in with a code: its SHA-256, in hex. */
  readonly onLoginUsed?: (codeSha256: string) => void;
  /** It asked for a crash of both servers. */
  readonly onCrash?: () => void;
  /** It was started in this repository, which is no project. */
  readonly onRepositoryFound?: (path: string) => void;
}

export interface RestartTiming {
  readonly restart: RestartLimits;
  /** Between SIGTERM and SIGKILL. */
  readonly graceMs: number;
  /** For this long, the same line about a server that keeps failing is not repeated. */
  readonly repeatMs: number;
}

/** The longest wait between attempts to start a server that refuses to: it costs a process each time. */
const REFUSED_CAP_MS = 5_000;

/** Starts a server and keeps it up. */
export function superviseServer(deps: SupervisedServerDeps): SupervisedServer {
  const { name, timing } = deps;
  const stopping = new AbortController();
  const readiness = createReadiness();
  const restartDelay = createRestartDelay(timing.restart, () => performance.now());
  const runs = createRuns(deps, readiness, restartDelay);
  const saved = keepRunning();

  async function keepRunning(): Promise<void> {
    const logOnce = withoutRepeats(deps.log, timing.repeatMs);
    while (!stopping.signal.aborted) {
      const cause = await runs.runOnce();
      if (cause === null || stopping.signal.aborted) return;
      const problem = runs.problem();
      const delay = restartDelay.down(problem === null ? undefined : REFUSED_CAP_MS);
      logOnce(problem ?? `the ${name} has ended (${cause}); restarting it in ${delay} ms`);
      await pause(delay, stopping.signal);
    }
  }

  return {
    ready: readiness.whenUp,
    createLogin: async (wanted, signal) => {
      for (;;) {
        await readiness.whenUp(signal);
        const code = await orAborted(runs.current()?.createLogin(wanted) ?? Promise.resolve(null), signal);
        if (code !== null) return code;
      }
    },
    send: (message) => runs.current()?.send(message),
    problem: runs.problem,
    retire: () => stopping.abort(),
    stop: async () => {
      stopping.abort();
      runs.current()?.kill('SIGTERM');
      if (!(await settlesWithin(saved, timing.graceMs))) runs.current()?.kill('SIGKILL');
      await saved;
    },
    crash: () => runs.current()?.kill('SIGKILL'),
    kill: () => {
      stopping.abort();
      runs.current()?.kill('SIGKILL');
    },
  };
}

/** Runs the processes of a server, one after another. */
function createRuns(deps: SupervisedServerDeps, readiness: Readiness, restartDelay: RestartDelay) {
  const { name, log } = deps;
  const startedAt = performance.now();
  let port = deps.port;
  let current: ServerProcess | null = null;
  let failure: StartFailure | null = null;
  let problem: string | null = null;

  function onReady(actual: number): void {
    port = actual;
    if (problem !== null) log(`the ${name} is up again`);
    problem = null;
    restartDelay.up();
    readiness.up(actual);
  }

  function afterEnd(cause: string): string | null {
    readiness.down();
    problem = null; // unless this start failed for that reason again
    if (failure === null) return cause;
    if (failure.fatal && readiness.wasEverUp())
      problem = `the ${name} cannot start again: ${failure.message.replace(/\.$/, '')}. ${deps.meanwhile}`;
    if (failure.fatal && !readiness.wasEverUp() && performance.now() - startedAt >= deps.patienceMs) {
      readiness.giveUp(new ServerStartError(name, failure.code, failure.message));
      return null;
    }
    return `${failure.message}; ${cause}`;
  }

  return {
    /** The running process, or null. */
    current: () => current,
    /** Why the last attempts failed, if a person has to mend it; null once it is up. */
    problem: () => problem,
    /** Resolves with the cause when the process has ended; with null when a retry would not help. */
    async runOnce(): Promise<string | null> {
      failure = null;
      current = startServerProcess({
        entry: deps.entry,
        env: deps.env,
        config: deps.configOn(port),
        later: deps.later,
        onReady,
        onFailed: (reported) => {
          failure = reported;
        },
        onLoginUsed: (codeSha256) => deps.onLoginUsed?.(codeSha256),
        onCrash: () => deps.onCrash?.(),
        onRepositoryFound: (path) => deps.onRepositoryFound?.(path),
        onNotice: log,
        onUnexpected: (message) => log(`the ${name} sent an unexpected message: ${message}`),
      });
      const cause = await current.ended;
      current = null;
      return afterEnd(cause);
    },
  };
}

/** Whether a server is up, and on which port. */
interface Readiness {
  up(port: number): void;
  down(): void;
  wasEverUp(): boolean;
  /** Rejects all waiting calls with the error. */
  giveUp(error: Error): void;
  whenUp(signal: AbortSignal): Promise<number>;
}

function createReadiness(): Readiness {
  let isUp = false;
  let wasEverUp = false;
  let next = nextUp();

  function nextUp(): PromiseWithResolvers<number> {
    const readiness = Promise.withResolvers<number>();
    readiness.promise.catch(() => {}); // nobody may be waiting
    return readiness;
  }

  return {
    up: (port) => {
      isUp = true;
      wasEverUp = true;
      next.resolve(port);
    },
    down: () => {
      if (isUp) next = nextUp();
      isUp = false;
    },
    wasEverUp: () => wasEverUp,
    giveUp: (error) => next.reject(error),
    whenUp: (signal) => orAborted(next.promise, signal),
  };
}

/** Drops repeated lines: the same line every second would bury everything else. */
function withoutRepeats(log: (line: string) => void, repeatMs: number): (line: string) => void {
  let last = { line: '', at: 0 };
  return (line) => {
    const now = performance.now();
    if (line === last.line && now - last.at < repeatMs) return;
    last = { line, at: now };
    log(line);
  };
}

export interface RestartLimits extends BackoffLimits {
  /** After this long up, the next failure counts as the first again. */
  readonly resetMs: number;
}

/** How long to wait before a server is restarted: doubles up to a cap, and never gives up. */
export interface RestartDelay {
  /** The server is up. */
  up(): void;
  /** The server is down. Returns the milliseconds to wait. @param maxMs the longest wait, if it is to be another one this time */
  down(maxMs?: number): number;
}

/** @param now milliseconds on a monotonic clock */
export function createRestartDelay(limits: RestartLimits, now: () => number): RestartDelay {
  const backoff = createBackoff(limits);
  let upSince: number | null = null;
  return {
    up: () => {
      upSince = now();
    },
    down: (maxMs) => {
      if (upSince !== null && now() - upSince >= limits.resetMs) backoff.reset();
      upSince = null;
      return backoff.next(maxMs);
    },
  };
}
