import { z } from 'zod';
import { messageOf } from './errors.ts';

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

/**
 * The messages between the supervisor and the two servers over the inherited IPC pipe. Secrets travel only here: never in the
 * environment, on a command line or in a file.
 */

const Port = z.int().min(0).max(65_535);

/** How people reach the board from other machines. */
export const Exposure = z.object({
  /** The address that people open, without a slash at its end: an origin, with a path if Callboard is below one. Null: the address it listens on. */
  publicUrl: z.url().nullable(),
  /** Addresses and networks of the proxies that may say for whom they ask. */
  proxies: z.array(z.string()),
  /** Absolute paths of a certificate and its key, if the web server itself speaks HTTPS. */
  tls: z.object({ cert: z.string(), key: z.string() }).nullable(),
});
export type Exposure = z.infer<typeof Exposure>;

/** The path that all of Callboard is below, without a slash at its end: "" or "/board". */
export const basePathOf = ({ publicUrl }: Pick<Exposure, 'publicUrl'>): string =>
  publicUrl === null ? '' : new URL(publicUrl).pathname.replace(/\/$/, '');

export const OrchestratorConfig = z.object({
  /** Absolute. */
  dataDir: z.string(),
  host: z.string(),
  /** 0 takes any free port; `ready` reports which. */
  port: Port,
  /** A WebSocket upgrade must present it as `Authorization: Bearer <secret>`. */
  secret: z.string().min(16),
  /** Absolute path of the `claude` to run; null to look for one. */
  claudePath: z.string().nullable(),
  maxParallel: z.int().positive(),
  agentUser: z.string().nullable(),
  /** With less free space on the disk of the data directory, nothing is started or delivered; 0 for no limit. */
  diskReserveMb: z.int().nonnegative(),
  /** A working session that prints nothing for this long asks for attention. */
  attentionAfterMinutes: z.number().positive(),
  /** Absolute paths of repositories to register as projects at start. */
  repos: z.array(z.string()),
  /** The folder in which a person started Callboard; null if that does not matter. */
  startedIn: z.string().nullable().default(null),
  /** The command that starts it again, without its port and the options of how it is reached; null for a demo. */
  startCommand: z.string().nullable().default(null),
  /** SHA-256, in hex, of an API token that authorizes every request; null for none. */
  tokenSha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .nullable(),
  /** The address that people open, for links to the board, as in `Exposure`; null if that is the one it listens on. */
  publicUrl: z.url().nullable(),
  /** The URL of the shared store, with its password; null for a store of this machine's own. */
  databaseUrl: z.string().nullable(),
  /** What this machine is called beside others; null for its host name. */
  machineName: z.string().nullable(),
  /** Where the orchestrators of other machines reach this one (`wss:`); null if they do not. */
  machineUrl: z.url().nullable(),
  /** Whether the supervisor starts git and `claude` for it, asked by messages of type `spawner`; without it, a process of its own does. */
  supervisorSpawns: z.boolean().optional(),
  /** It ends its sessions when it has not reached the shared store for this long; null: never. */
  endSessionsAfterMinutes: z.number().positive().nullable(),
});
export type OrchestratorConfig = z.infer<typeof OrchestratorConfig>;

export const WebServerConfig = z.object({
  host: z.string(),
  port: Port,
  exposure: Exposure,
  /** `url` is null while unknown; `orchestrator-at` sends it later. */
  orchestrator: z.object({ url: z.url().nullable(), secret: z.string() }),
});
export type WebServerConfig = z.infer<typeof WebServerConfig>;

/** Supervisor to a server. `configure` is the first message and comes once. */
export const ToServer = z.discriminatedUnion('type', [
  z.object({ type: z.literal('configure'), config: z.unknown() }),
  /** Web server only, after `configure`: where the orchestrator listens. */
  z.object({ type: z.literal('orchestrator-at'), url: z.url() }),
  /** Orchestrator only: register the repository at this path. It answers with a notice. */
  z.object({ type: z.literal('add-project'), path: z.string() }),
  /** Orchestrator only: make a one-time login code, or log in the terminal of this name. */
  z.object({
    type: z.literal('create-login'),
    id: z.string(),
    terminal: z.string().nullable().default(null),
    /** A file that the program which asks keeps open; null if the supervisor asks for itself. */
    heldFile: z.string().nullable().default(null),
  }),
]);
export type ToServer = z.infer<typeof ToServer>;

/** Why a server cannot start. */
export const StartFailure = z.object({
  code: z.string(),
  /** The cause in words, and what to do about it if known. */
  message: z.string(),
  /** A retry will not help (the port is taken, the data directory is in use). */
  fatal: z.boolean(),
});
export type StartFailure = z.infer<typeof StartFailure>;

/** A server to the supervisor. */
export const FromServer = z.discriminatedUnion('type', [
  z.object({ type: z.literal('ready'), port: Port }),
  /** `code`: for a terminal, its token. */
  z.object({ type: z.literal('login-created'), id: z.string(), code: z.string() }),
  /** Orchestrator: somebody has logged in with this code (SHA-256, in hex). */
  z.object({ type: z.literal('login-used'), codeSha256: z.string() }),
  /** Orchestrator, before `ready`: it was started in this repository, which is no project. */
  z.object({ type: z.literal('repository-found'), path: z.string() }),
  /** A line for whoever reads the terminal. */
  z.object({ type: z.literal('notice'), text: z.string() }),
  /** Kill both servers, and start them again as after any crash. */
  z.object({ type: z.literal('crash') }),
  /** The login could not be made (the store cannot write, for example). */
  z.object({ type: z.literal('login-failed'), id: z.string(), message: z.string() }),
  /** Sent before the server exits. If the first start fails with a fatal failure, the supervisor gives up with `message`. */
  StartFailure.extend({ type: z.literal('failed') }),
]);
export type FromServer = z.infer<typeof FromServer>;
