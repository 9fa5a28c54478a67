import { createHash, randomBytes } from 'node:crypto';
import type { Environment } from '@callboard/runtime/environment';
import type { OrchestratorConfig, ToServer, WebServerConfig } from '@callboard/runtime/supervision';
import { authority, boardOrigin, loopbackHost, type StartOptions } from '../command-line/start-options.ts';
import { CliError } from '../errors.ts';
import { type RestartTiming, type SupervisedServer, superviseServer, type WantedLogin } from './server-process.ts';

/** Absolute paths of the two programs. */
export interface ServerEntries {
  readonly orchestrator: string;
  readonly webServer: string;
}

/** Keeps the orchestrator and the web server up. */
export interface Supervisor {
  /**
   * Starts both. Resolves once both are up. Rejects with ServerStartError when one cannot start, with CliError when no
   * login link can be made, or with the signal's reason. Call it once, and `stop` in every case.
   */
  start(signal: AbortSignal): Promise<{ port: number; loginLink: string }>;
  /**
   * Makes a new one-time link, after `start`. @param heldFile kept open by the program that asks; null if that is the supervisor
   * @throws CliError if none could be made, as while a server is down for long; or the signal's reason; if a session's process holds the file
   */
  createLink(signal: AbortSignal, heldFile?: string): Promise<string>;
  /**
   * Logs in a terminal of this name, after `start`. Resolves with its token and the address of the board. Throws as `createLink`.
   */
  logInTerminal(terminal: string, heldFile: string, signal: AbortSignal): Promise<TerminalAccess>;
  /** The repository in which a person started Callboard, after `start`; null if it is none, or a project already. */
  repositoryHere(): string | null;
  /** Registers a repository. Its result goes to the log. */
  addProject(path: string): void;
  /** Why a server is down until a person mends something, in words. Empty while all is well. */
  problems(): string[];
  /** Resolves when somebody has logged in with this link. */
  whenFollowed(link: string): Promise<void>;
  /** Stops both, the web server first. Every call returns the same promise. */
  stop(): Promise<void>;
  /** Kills both at once. */
  kill(): void;
}

/** What a terminal needs to use the API. */
export interface TerminalAccess {
  readonly address: string;
  readonly token: string;
}

export interface SupervisorDeps {
  readonly options: StartOptions;
  /** Of the shared store, with its password. */
  readonly databaseUrl?: string | null;
  readonly servers: ServerEntries;
  /** The environment of the supervisor itself. */
  readonly env: Environment;
  readonly log: (line: string) => void;
  readonly timing?: RestartTiming;
  /** How long the login link may take. */
  readonly loginMs?: number;
  /** Whether the last supervisor was killed: its servers may need a moment to notice, and to release the ports. */
  readonly isTakeover: boolean;
  /** Called with what begins now, while `start` runs. */
  readonly onStep?: (text: string) => void;
}

export const defaultTiming: RestartTiming = {
  restart: { firstMs: 100, maxMs: 1_000, resetMs: 10_000 },
  graceMs: 5_000,
  repeatMs: 60_000,
};

const ORCHESTRATOR = { name: 'orchestrator', meanwhile: 'Retrying every few seconds.' };
const WEB_SERVER = { name: 'web server', meanwhile: 'Retrying every few seconds; sessions continue in the meantime.' };
const TAKEOVER_PATIENCE_MS = 30_000;

/** Creates a supervisor. Nothing runs before `start`. */
export function createSupervisor(deps: SupervisorDeps): Supervisor {
  const { options, servers, env, log, timing = defaultTiming, loginMs = 30_000 } = deps;
  const secret = randomBytes(32).toString('base64url');
  const { CALLBOARD_TOKEN: _token, CALLBOARD_DATABASE_URL: _url, ...serverEnv } = env;
  const common = { env: serverEnv, log, timing, patienceMs: deps.isTakeover ? TAKEOVER_PATIENCE_MS : 0 };
  const running: SupervisedServer[] = [];
  /** Called when a code is used, by its hash. */
  const waiting = new Map<string, () => void>();
  let repositoryHere: string | null = null;
  let stopping: Promise<void> | undefined;

  const superviseOrchestrator = () =>
    superviseServer({
      ...common,
      ...ORCHESTRATOR,
      entry: servers.orchestrator,
      port: options.orchestratorPort,
      configOn: (port) => orchestratorConfig(deps, secret, port),
      onLoginUsed: (codeSha256) => waiting.get(codeSha256)?.(),
      onRepositoryFound: (path) => {
        repositoryHere = path;
      },
      onCrash: () => {
        for (const server of running) server.crash();
      },
    });

  const superviseWebServer = (orchestratorPort: Promise<number>) => {
    const configOn = (port: number) => webServerConfig(options, secret, port);
    const later = orchestratorPort.then((port): ToServer => {
      return { type: 'orchestrator-at', url: `ws://${authority(loopbackHost(options.host), port)}` };
    });
    return superviseServer({ ...common, ...WEB_SERVER, entry: servers.webServer, port: options.port, configOn, later });
  };

  const save = (server: SupervisedServer) => {
    running.push(server);
    return server;
  };

  async function stopAll(): Promise<void> {
    // A Ctrl-C reaches the servers as well: one that ends while we wait for the other must not be restarted.
    for (const server of running) server.retire();
    for (const server of running.toReversed()) await server.stop();
  }

  /** @param terminal null for a browser, whose token is a one-time code */
  async function logIn(wanted: WantedLogin, signal: AbortSignal) {
    const [orchestrator, webServer] = running;
    if (orchestrator === undefined || webServer === undefined) throw new CliError('Callboard is still starting.');
    const [port, token] = await Promise.all([
      webServer.ready(signal),
      createLogin(orchestrator, { wanted, loginMs }, signal),
    ]);
    return { address: wanted.terminal === null ? boardOrigin(options, port) : terminalOrigin(options, port), token };
  }

  async function createLink(signal: AbortSignal, heldFile: string | null = null): Promise<string> {
    requireUp(running);
    const { address, token } = await logIn({ terminal: null, heldFile }, signal);
    return `${address}/login?code=${encodeURIComponent(token)}`;
  }

  return {
    start: async (signal) => {
      deps.onStep?.('opening the store and finding running sessions');
      // In parallel: the web server gets as far as it can while the orchestrator starts.
      const orchestratorPort = save(superviseOrchestrator()).ready(signal);
      const webServer = save(superviseWebServer(orchestratorPort));
      await orchestratorPort;
      deps.onStep?.('starting the board');
      const loginLink = await createLink(signal);
      return { port: await webServer.ready(signal), loginLink };
    },
    createLink,
    logInTerminal: async (terminal, heldFile, signal) => {
      requireUp(running);
      return logIn({ terminal, heldFile }, signal);
    },
    repositoryHere: () => repositoryHere,
    addProject: (path) => running[0]?.send({ type: 'add-project', path }),
    problems: () => problemsOf(running),
    whenFollowed: (link) => {
      const code = new URL(link).searchParams.get('code') ?? '';
      return new Promise((resolve) => waiting.set(createHash('sha256').update(code).digest('hex'), resolve));
    },
    stop: () => {
      stopping ??= stopAll();
      return stopping;
    },
    kill: () => {
      for (const server of running) server.kill();
    },
  };
}

const problemsOf = (servers: readonly SupervisedServer[]): string[] =>
  servers.map((server) => server.problem()).filter((problem) => problem !== null);

/** Who asks would otherwise wait for a server that waits for them. @throws CliError */
function requireUp(servers: readonly SupervisedServer[]): void {
  const [problem] = problemsOf(servers);
  if (problem !== undefined) throw new CliError(problem);
}

/**
 * Makes a one-time code, or the token of a terminal of this name.
 * @throws CliError if none was made in time, or the signal's reason
 */
async function createLogin(
  orchestrator: SupervisedServer,
  { wanted, loginMs }: { wanted: WantedLogin; loginMs: number },
  signal: AbortSignal,
): Promise<string> {
  const late = AbortSignal.timeout(loginMs);
  try {
    return await orchestrator.createLogin(wanted, AbortSignal.any([signal, late]));
  } catch (error) {
    if (error !== late.reason) throw error;
    throw new CliError(`no login was made within ${loginMs / 1000} s. Is the disk very slow, or full?`);
  }
}

/** A terminal of this machine needs no proxy. */
const terminalOrigin = (options: StartOptions, port: number): string =>
  options.exposure.tls === null ? `http://${authority(loopbackHost(options.host), port)}` : boardOrigin(options, port);

const webServerConfig = ({ host, exposure }: StartOptions, secret: string, port: number): WebServerConfig => ({
  host,
  port,
  exposure,
  orchestrator: { url: null, secret },
});

const orchestratorConfig = (
  { options, databaseUrl = null }: Pick<SupervisorDeps, 'options' | 'databaseUrl'>,
  secret: string,
  port: number,
): OrchestratorConfig => ({
  dataDir: options.dataDir,
  host: loopbackHost(options.host),
  port,
  secret,
  supervisorSpawns: true,
  claudePath: options.claudePath,
  maxParallel: options.maxParallel,
  diskReserveMb: options.diskReserveMb,
  attentionAfterMinutes: options.attentionAfterMinutes,
  agentUser: options.agentUser,
  repos: [...options.repos],
  startedIn: options.startedIn,
  startCommand: options.startCommand,
  tokenSha256: options.tokenSha256,
  publicUrl: options.exposure.publicUrl,
  databaseUrl,
  machineName: options.sharedStore.machineName,
  machineUrl: options.sharedStore.machineUrl,
  endSessionsAfterMinutes: options.sharedStore.endSessionsAfterMinutes,
});
