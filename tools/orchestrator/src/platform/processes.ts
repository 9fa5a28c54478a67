import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { settlesWithin } from '@callboard/runtime/settles-within';
import { OperationalError } from '../lib/errors.ts';
import {
  type Detached,
  type DetachedJob,
  detachHere,
  type FromSpawner,
  isOnSharedPipe,
  type Job,
  notRun,
  type ProcessExit,
  type Ran,
  runHere,
  type ToSpawner,
} from './child-processes.ts';

export type { Detached, DetachedJob, Job, ProcessExit, Ran } from './child-processes.ts';

let spawner: Spawner | undefined;
let users = 0;

/** Runs a program to its end. Ends it when the signal aborts. Never rejects. */
export const run = (job: Job, signal?: AbortSignal): Promise<Ran> =>
  spawner === undefined ? runHere(job, signal) : spawner.run(job, signal);

/**
 * Runs a program that must succeed.
 * @throws OperationalError `program_failed`, with the first line of its stderr or, without one, the complaint
 */
export async function must(job: Job): Promise<void> {
  const { failed, isMissing, stderr, complaint } = await run(job);
  if (isMissing) throw new OperationalError('program_failed', `there is no ${job.command}`);
  if (failed) throw new OperationalError('program_failed', stderr.trim().split('\n', 1)[0] || (complaint ?? ''));
}

/** Starts a program that outlives Callboard. @throws a system error; OperationalError `spawner_ended` */
export const detach = (job: DetachedJob): Promise<Detached> =>
  spawner === undefined ? detachHere(job) : spawner.detach(job);

/**
 * Makes this process start all others through a spawner, so that starting them never blocks its event loop. Like the thread
 * pool, the spawner is shared by the whole process.
 * @param supervised if the supervisor is the spawner; otherwise it is a process of its own. `env`: for jobs without an environment, since the
 *   supervisor's has secrets that this process was not given
 * @returns a function that gives the spawner up; when the last user calls it, the spawner ends
 */
export function useSpawner(supervised: { env: Job['env'] } | null = null): () => Promise<void> {
  spawner ??= createSpawner(supervised === null ? {} : { ...supervised, open: openToSupervisor, idleMs: null });
  users++;
  return async () => {
    if (--users > 0) return;
    const last = spawner;
    spawner = undefined;
    await last?.stop();
  };
}

/** Starts processes through another process: the supervisor, or a small one that starts with the first job and ends after some idle time. */
export interface Spawner {
  /** Like `runHere`. If the spawner ends while the job runs, the job fails. */
  run(job: Job, signal?: AbortSignal): Promise<Ran>;
  /**
   * Like `detachHere`. If the spawner ends first, nobody knows how the process ended.
   * @throws OperationalError `spawner_ended`; the process may have been started nevertheless
   */
  detach(job: DetachedJob): Promise<Detached>;
  /** Ends all running jobs, but no detached process, and the spawner. */
  stop(): Promise<void>;
}

/** The most jobs at once: more would only compete for the processors, and each has two pipes. */
const AT_ONCE = 8;
const IDLE_MS = 10_000;
const END_MS = 2_000;
const ENDED = 'The process in which Callboard starts programs has ended.';

const entry = import.meta.filename.endsWith('.ts') ? 'spawner-main.ts' : 'spawner.js';

interface SpawnerOptions {
  /** Opens a pipe to a spawner. */
  readonly open?: () => SpawnerPipe;
  /** How long an idle spawner stays; null: as long as this process. */
  readonly idleMs?: number | null;
  /** Of jobs that have none; by default the spawner's. */
  readonly env?: Job['env'];
}

export function createSpawner({ open = forkSpawner, idleMs = IDLE_MS, env }: SpawnerOptions = {}): Spawner {
  let current: Connection | undefined;
  let runs = 0;
  const waiting: (() => void)[] = [];
  let idle: NodeJS.Timeout | undefined;

  function connection(): Connection {
    if (current !== undefined) return current;
    const made = connect(open(), () => {
      if (current === made) current = undefined;
    });
    current = made;
    return made;
  }

  async function stop(): Promise<void> {
    clearTimeout(idle);
    await current?.end();
  }

  /** Keeps the spawner while `work` runs. Afterwards the spawner ends if it stays idle. */
  async function needed<T>(work: () => Promise<T>): Promise<T> {
    clearTimeout(idle);
    try {
      return await work();
    } finally {
      clearTimeout(idle);
      if (idleMs !== null)
        idle = setTimeout(() => {
          if (current?.isIdle()) void stop();
        }, idleMs).unref();
    }
  }

  async function inTurn(job: Job, signal?: AbortSignal): Promise<Ran> {
    while (runs >= AT_ONCE) await new Promise<void>((resolve) => waiting.push(resolve));
    if (signal?.aborted) return notRun(`Command was canceled: ${job.command}`);
    runs++;
    try {
      return await connection().run({ ...job, env: job.env ?? env }, signal);
    } finally {
      runs--;
      waiting.shift()?.();
    }
  }

  return {
    run: (job, signal) => needed(() => inTurn(job, signal)),
    async detach(job) {
      const detached = await needed(() => connection().detach(job));
      void needed(() => detached.exit); // keeps the parent: only a parent learns how its child ends
      return detached;
    },
    stop,
  };
}

interface Connection {
  run(job: Job, signal?: AbortSignal): Promise<Ran>;
  detach(job: DetachedJob): Promise<Detached>;
  isIdle(): boolean;
  end(): Promise<void>;
}

interface Detaching {
  resolve: (detached: Detached) => void;
  reject: (error: unknown) => void;
  exit: PromiseWithResolvers<ProcessExit>;
}

/** A pipe to a spawner. */
interface SpawnerPipe {
  /** If the spawner is just ending, `gone` resolves a moment later. */
  send(message: ToSpawner): void;
  onMessage(listener: (message: FromSpawner) => void): void;
  /** Keeps the event loop alive, or no longer. */
  hold(isHeld: boolean): void;
  /** Resolves when the spawner starts nothing any longer and no job is left, or it is gone, or could not be started. */
  readonly gone: Promise<unknown>;
  kill(): Promise<unknown>;
}

function forkSpawner(): SpawnerPipe {
  const child = fork(join(import.meta.dirname, entry), [String(process.pid)], {
    // Nobody who may send signals can attach a debugger. Little memory: new objects could take 50 MB otherwise.
    execArgv: ['--disable-sigusr1', '--max-semi-space-size=1'],
    // A Ctrl-C in the terminal is meant for the orchestrator alone.
    detached: true,
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  child.unref();
  child.channel?.unref();
  const gone = once(child, 'exit').catch(() => undefined);
  return {
    gone,
    send: (message) => void (child.connected && child.send(message, () => undefined)),
    onMessage: (listener) => void child.on('message', (raw) => listener(raw as FromSpawner)), // from the same build
    hold: (isHeld) => (isHeld ? child.channel?.ref() : child.channel?.unref()),
    kill: () => {
      child.kill('SIGKILL');
      return gone;
    },
  };
}

/** The pipe on which the supervisor configures this process. When it closes, this process ends. */
function openToSupervisor(): SpawnerPipe {
  const listeners: ((message: FromSpawner) => void)[] = [];
  const ended = Promise.withResolvers<void>();
  process.on('message', (raw) => {
    if (!isOnSharedPipe<FromSpawner>(raw)) return;
    if (raw.message.type === 'ended') ended.resolve();
    for (const listener of listeners) listener(raw.message);
  });
  process.once('disconnect', ended.resolve);
  return {
    send(message) {
      if (process.connected) process.send?.({ type: 'spawner', message }, undefined, {}, () => undefined);
    },
    onMessage: (listener) => void listeners.push(listener),
    hold: () => undefined, // it is always held
    gone: ended.promise,
    kill: () => Promise.resolve(), // what is left of the jobs gets SIGKILL in a moment
  };
}

/** One spawner. */
function connect(pipe: SpawnerPipe, onEnded: () => void): Connection {
  const runs = new Map<number, (ran: Ran) => void>();
  const detached = new Map<number, Detaching>();
  let lastId = 0;
  const gone = pipe.gone.then(() => {
    onEnded();
    for (const resolve of runs.values()) resolve(notRun(ENDED));
    for (const { reject, exit } of detached.values()) {
      reject(new OperationalError('spawner_ended', ENDED));
      exit.resolve({ known: false });
    }
  });
  pipe.onMessage((message) => {
    if (message.type === 'ended') return; // `gone` tells
    if (message.type === 'ran') runs.get(message.id)?.(message.ran);
    const one = detached.get(message.id);
    if (message.type === 'detached') one?.resolve({ identity: message.identity, exit: one.exit.promise });
    if (message.type === 'not-detached') one?.reject(systemError(message.message, message.code));
    if (message.type === 'exited') one?.exit.resolve(message.exit);
    if (message.type === 'exited' || message.type === 'not-detached') detached.delete(message.id);
  });

  /** The number of awaited replies. They keep the event loop alive. */
  let awaited = 0;
  function whileAwaited<T>(reply: Promise<T>): Promise<T> {
    if (awaited++ === 0) pipe.hold(true);
    return reply.finally(() => {
      if (--awaited === 0) pipe.hold(false);
    });
  }

  return {
    run(job, signal) {
      const id = ++lastId;
      const { promise, resolve } = Promise.withResolvers<Ran>();
      const onAbort = () => pipe.send({ type: 'abort', id });
      runs.set(id, resolve);
      signal?.addEventListener('abort', onAbort);
      pipe.send({ type: 'run', id, job });
      return whileAwaited(promise).finally(() => {
        signal?.removeEventListener('abort', onAbort);
        runs.delete(id);
      });
    },
    detach(job) {
      const id = ++lastId;
      const { promise, resolve, reject } = Promise.withResolvers<Detached>();
      detached.set(id, { resolve, reject, exit: Promise.withResolvers() });
      pipe.send({ type: 'detach', id, job });
      return whileAwaited(promise);
    },
    isIdle: () => runs.size === 0 && detached.size === 0,
    async end() {
      onEnded(); // later calls get a new spawner
      pipe.send({ type: 'end' });
      if (!(await whileAwaited(settlesWithin(gone, END_MS)))) await pipe.kill();
    },
  };
}

function systemError(message: string, code: string | null): Error {
  return code === null ? new Error(message) : Object.assign(new Error(message), { code });
}
