import { setTimeout as sleep } from 'node:timers/promises';
import type { Environment } from '@callboard/runtime/environment';
import { settlesWithin } from '@callboard/runtime/settles-within';
import type { StartFailure, ToServer } from '@callboard/runtime/supervision';
import { orAborted } from '@callboard/runtime/waits';
import { ServerStartError } from '../errors.ts';
import { type BackOff, type BackOffLimits, createBackOff } from './back-off.ts';
import { type ServerProcess, startServerProcess, type WantedLogin } from './server-process.ts';

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
  /** Why the server is down and cannot start again before a person mends something, in words; null if it is up, or just restarting. */
  problem(): string | null;
  /** Starts no new process from now on. */
  retire(): void;
  /** Sends SIGTERM, and SIGKILL after the grace. Resolves when no process is left and none will start. */
  stop(): Promise<void>;
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
}

export interface RestartTiming {
  readonly backOff: BackOffLimits;
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
  const backOff = createBackOff(timing.backOff, () => performance.now());
  const runs = createRuns(deps, readiness, backOff);
  const saved = keepRunning();

  async function keepRunning(): Promise<void> {
    const logOnce = withoutRepeats(deps.log, timing.repeatMs);
    while (!stopping.signal.aborted) {
      const cause = await runs.runOnce();
      if (cause === null || stopping.signal.aborted) return;
      const problem = runs.problem();
      const delay = backOff.down(problem === null ? undefined : REFUSED_CAP_MS);
      logOnce(problem ?? `the ${name} has ended (${cause}); restarting it in ${delay} ms`);
      await sleep(delay, undefined, { signal: stopping.signal }).catch(() => {});
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
    problem: runs.problem,
    retire: () => stopping.abort(),
    stop: async () => {
      stopping.abort();
      runs.current()?.kill('SIGTERM');
      if (!(await settlesWithin(saved, timing.graceMs))) runs.current()?.kill('SIGKILL');
      await saved;
    },
    kill: () => {
      stopping.abort();
      runs.current()?.kill('SIGKILL');
    },
  };
}

/** Runs the processes of a server, one after another. */
function createRuns(deps: SupervisedServerDeps, readiness: Readiness, backOff: BackOff) {
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
    backOff.up();
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
