import { z } from 'zod';
import { messageOf } from './errors.ts';
import { type FromServer, type StartFailure, ToServer } from './supervision.ts';

/** How long a stop may take before the process exits all the same. Sessions lose nothing then. */
const GRACE_MS = 5_000;

/** A server that listens. */
export interface RunningServer {
  readonly port: number;
  stop(): Promise<void>;
  /** Resolves when the supervisor may call the server ready; without it, that is at once. Never rejects. */
  whenReady?(): Promise<void>;
}

export interface ServerProgram<Config, Server extends RunningServer> {
  /** As people call it: `web server`. */
  readonly name: string;
  readonly Config: z.ZodType<Config>;
  /** Starts the server. Called once, with the configuration that the supervisor sent. */
  start(config: Config): Promise<Server>;
  /** Explains why `start` rejected; null for an unexpected error, whose stack is then logged. */
  explainFailure(error: unknown, config: Config): StartFailure | null;
  /** Gets every message but `configure`. `server` is undefined before `configure`. */
  onMessage(message: ToServer, server: Promise<Server> | undefined): void;
  readonly log: { error(details: object, message: string): void };
}

/** Sends a message to the supervisor. Resolves once it is sent, or the supervisor is gone. Never rejects. */
export type NotifySupervisor = (message: FromServer) => Promise<void>;

/**
 * Runs a server as the process that the supervisor started: takes the configuration from the IPC pipe, reports `ready` or
 * `failed`, and stops the server on SIGTERM, on SIGINT, and when the pipe closes.
 *
 * Exits with 0 after a stop and with 1 when the server cannot start.
 */
export function runSupervised<Config, Server extends RunningServer>(
  program: ServerProgram<Config, Server>,
): NotifySupervisor {
  let server: Promise<Server> | undefined;
  let isExiting = false;

  function exit(code: number): void {
    if (isExiting) return;
    isExiting = true;
    setTimeout(() => process.exit(code), GRACE_MS).unref();
    const stopped = server?.then((running) => running.stop()).catch(() => undefined);
    void Promise.resolve(stopped).finally(() => process.exit(code));
  }

  async function giveUp(failure: StartFailure): Promise<void> {
    await notify({ type: 'failed', ...failure });
    exit(1);
  }

  async function configure(raw: unknown): Promise<void> {
    const { data: config, error: invalid } = program.Config.safeParse(raw);
    if (config === undefined)
      return giveUp({ code: 'bad_config', message: z.prettifyError(invalid ?? new z.ZodError([])), fatal: true });
    try {
      server = program.start(config);
      const { port, whenReady } = await server;
      await whenReady?.();
      if (!isExiting) await notify({ type: 'ready', port });
    } catch (error) {
      const failure = program.explainFailure(error, config);
      if (failure === null) program.log.error({ err: error }, `the ${program.name} cannot start`);
      await giveUp(failure ?? { code: 'start_failed', message: messageOf(error), fatal: false });
    }
  }

  process.on('message', (raw) => {
    const { data: message } = ToServer.safeParse(raw);
    if (message === undefined) return;
    if (message.type !== 'configure') program.onMessage(message, server);
    else if (server === undefined) void configure(message.config);
  });
  process.on('disconnect', () => exit(0));
  process.on('SIGTERM', () => exit(0));
  process.on('SIGINT', () => exit(0));
  if (process.send === undefined) {
    process.stderr.write(`The ${program.name} cannot run alone. Start Callboard with npm start.\n`);
    process.exit(1);
  }
  return notify;
}

const notify: NotifySupervisor = (message) =>
  new Promise((resolve) => {
    if (process.send === undefined || !process.connected) resolve();
    else process.send(message, undefined, {}, () => resolve());
  });
