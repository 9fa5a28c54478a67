import { setTimeout as sleep } from 'node:timers/promises';
import { settlesWithin } from '@callboard/runtime/settles-within';
import type { ToServer } from '@callboard/runtime/supervision';
import { orAborted } from '@callboard/runtime/waits';
import type { Environment } from '../edges.ts';
import { ServerFailed } from '../errors.ts';
import { type BackOffLimits, createBackOff } from './back-off.ts';
import { type ServerProcess, startServerProcess } from './server-process.ts';

/** A server that is started again whenever it ends, until it is told to stop. */
export interface KeptServer {
  /**
   * Resolves with its port when it is up, at once if it is. Rejects with ServerFailed when its first start failed
   * for good, or with the signal's reason.
   */
  ready(signal: AbortSignal): Promise<number>;
  /**
   * A one-time login code, from whichever process of the server is there to make one.
   * @throws OperationalError if that one could not, or the signal's reason
   */
  createLogin(signal: AbortSignal): Promise<string>;
  /** No new process any more. */
  retire(): void;
  /** SIGTERM, and SIGKILL after the grace; resolves when no process is left and none will come. */
  stop(): Promise<void>;
  /** SIGKILL at once, and no new process. */
  kill(): void;
}

export interface KeptServerParts {
  /** As people call it, for messages. */
  readonly name: string;
  /** Absolute path of the program. */
  readonly entry: string;
  /** The port to ask for; 0 for any. Once the server has one, it keeps it. */
  readonly port: number;
  readonly configOn: (port: number) => unknown;
  /** What each of its processes is told after its configuration, once that is known. */
  readonly later?: Promise<ToServer>;
  readonly env: Environment;
  readonly log: (line: string) => void;
  readonly timing: KeptServerTiming;
  /** For how long a fatal failure of the first start is tried again all the same. */
  readonly patienceMs: number;
  /** Somebody has logged in with a code: its SHA-256, in hex. */
  readonly onLoginUsed?: (codeSha256: string) => void;
}

export interface KeptServerTiming {
  readonly backOff: BackOffLimits;
  /** Between SIGTERM and SIGKILL. */
  readonly graceMs: number;
  /** How long the same words about a server that keeps failing are not said again. */
  readonly repeatMs: number;
}

/** Starts a server and keeps it up. */
export function keepServer(parts: KeptServerParts): KeptServer {
  const { name, log, timing } = parts;
  const stopping = new AbortController();
  const startedAt = performance.now();
  const backOff = createBackOff(timing.backOff, () => performance.now());
  let port = parts.port;
  let wasEverUp = false;
  let isUp = false;
  let up = newReadiness();
  let current: ServerProcess | null = null;
  let failure: { code: string; message: string; fatal: boolean } | null = null;
  let last = { line: '', at: 0 };
  const kept = keep();

  async function keep(): Promise<void> {
    while (!stopping.signal.aborted) {
      const cause = await runOnce();
      if (cause === null || stopping.signal.aborted) return;
      const delay = backOff.down();
      say(`the ${name} has ended (${cause}); it is started again in ${delay} ms`);
      await sleep(delay, undefined, { signal: stopping.signal }).catch(() => {});
    }
  }

  /** The same words each second would bury what else there is to read. */
  function say(line: string): void {
    const now = performance.now();
    if (line === last.line && now - last.at < timing.repeatMs) return;
    last = { line, at: now };
    log(line);
  }

  /** Resolves, when the process has ended, with the cause; null when there is no sense in another try. */
  async function runOnce(): Promise<string | null> {
    failure = null;
    current = startServerProcess({
      entry: parts.entry,
      env: parts.env,
      config: parts.configOn(port),
      later: parts.later,
      onReady,
      onFailed: (told) => {
        failure = told;
      },
      onLoginUsed: (codeSha256) => parts.onLoginUsed?.(codeSha256),
      onNonsense: (message) => log(`the ${name} said what is not understood: ${message}`),
    });
    const cause = await current.ended;
    current = null;
    return afterEnd(cause);
  }

  function onReady(actual: number): void {
    port = actual;
    isUp = true;
    wasEverUp = true;
    backOff.up();
    up.resolve(actual);
  }

  function afterEnd(cause: string): string | null {
    if (isUp) up = newReadiness();
    isUp = false;
    if (failure === null) return cause;
    if (failure.fatal && !wasEverUp && performance.now() - startedAt >= parts.patienceMs) {
      up.reject(new ServerFailed(name, failure.code, failure.message));
      return null;
    }
    return `${failure.message}; ${cause}`;
  }

  async function stop(): Promise<void> {
    stopping.abort();
    current?.kill('SIGTERM');
    if (!(await settlesWithin(kept, timing.graceMs))) current?.kill('SIGKILL');
    await kept;
  }

  const ready = (signal: AbortSignal) => orAborted(up.promise, signal);
  return {
    ready,
    createLogin: async (signal) => {
      for (;;) {
        await ready(signal);
        const code = await orAborted(current?.createLogin() ?? Promise.resolve(null), signal);
        if (code !== null) return code;
      }
    },
    retire: () => stopping.abort(),
    stop,
    kill: () => {
      stopping.abort();
      current?.kill('SIGKILL');
    },
  };
}

function newReadiness(): PromiseWithResolvers<number> {
  const readiness = Promise.withResolvers<number>();
  readiness.promise.catch(() => {}); // nobody need be waiting
  return readiness;
}
