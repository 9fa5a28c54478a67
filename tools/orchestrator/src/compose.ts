import type { BoardEvent, SessionNowUpdate, StageId, TextDelta } from '@callboard/contract';
import { createLifecycle } from '@callboard/runtime/lifecycle';
import { watchLoopDelay } from '@callboard/runtime/loop-delay';
import type { OrchestratorConfig } from '@callboard/runtime/supervision';
import { findClaude } from './claude/program/find-claude.ts';
import { checkSandbox } from './claude/sandbox/sandbox-check.ts';
import { startAutomation } from './compose/automation.ts';
import { beginMembership } from './compose/begin-membership.ts';
import { createServices } from './compose/create-services.ts';
import { createViews } from './compose/create-views.ts';
import { joinMachines } from './compose/join-machines.ts';
import { saveFiles } from './compose/keep-files.ts';
import { saveOrphanedWork } from './compose/keep-former-work.ts';
import { openRepositories, type Repositories } from './compose/open-repositories.ts';
import { openStorage } from './compose/open-storage.ts';
import { reactToChanges } from './compose/react-to-changes.ts';
import { runSessions } from './compose/run-sessions.ts';
import { homeOf, type StartContext, TIME_LIMITS, type TimeLimits } from './compose/start-context.ts';
import { recoverOrphanedWorktrees } from './compose/take-former-worktrees.ts';
import { logClaudeUpdates } from './doctor/claude-news.ts';
import { createClaudeWatch } from './doctor/claude-watch.ts';
import { askLogin } from './doctor/inspect-claude.ts';
import { createLoginWatch } from './doctor/login-watch.ts';
import { createSandboxWatch } from './doctor/sandbox-watch.ts';
import { commandHandlers } from './gateway/command-handlers.ts';
import { executeCommand, type Outcome } from './gateway/execute-command.ts';
import { createExecutedCommands } from './gateway/executed-commands.ts';
import { openGateway } from './gateway/gateway.ts';
import { createSignal } from './lib/bell.ts';
import { nodePlatform, type Platform } from './lib/edges.ts';
import { OperationalError } from './lib/errors.ts';
import type { Logger } from './lib/logger.ts';
import { useSpawner } from './lib/processes/processes.ts';
import { createMetrics } from './metrics/metrics.ts';
import { createStartDelays } from './scheduler/start-gates.ts';
import type { Callers } from './sessions/callers.ts';
import { VERSION } from './version.ts';

export interface ComposeOptions {
  log: Logger;
  /** The environment of Callboard; children get the user's part of it. */
  env: Readonly<Record<string, string | undefined>>;
  platform?: Platform;
  /** Called with the SHA-256, in hex, of each login code that was used. */
  onCodeUsed?: (codeSha256: string) => void;
  /** Called with what the terminal should say: that Claude Code is missing or not logged in, that this is over, and that a newer version must be started. */
  onUpdate?: (line: string) => void;
  /** Called, with the reason, when this process has to start again: its machine was declared lost, or its shared store lost commits in a crash. */
  onLost?: (reason: string) => void;
  limits?: Partial<TimeLimits>;
}

export interface Orchestrator {
  /** Where the WebSocket server listens. */
  readonly port: number;
  /** Returns a one-time code for a login link. */
  createLoginCode(): Promise<string>;
  /** Logs a terminal in. Returns its token. @param name in words */
  createTerminalLogin(name: string): Promise<string>;
  /** As `Callers.requireHolder`. */
  requireCaller: Callers['requireHolder'];
  /** For an embedder in the same process (`createInProcessTransport` of the contract's client). */
  execute(frame: string, watch: (stageIds: readonly StageId[]) => void): Promise<unknown>;
  onEvent(listener: (event: BoardEvent) => void): () => void;
  onTextDelta(listener: (delta: TextDelta) => void): () => void;
  /** Ends the processes of all idle sessions, to free their memory. */
  endIdle(): Promise<void>;
  /** Stops everything in reverse order; the processes of sessions live on. */
  stop(): Promise<void>;
}

/**
 * Builds every part in the order of their dependencies, re-attaches to the processes of earlier runs, and only then listens.
 * @throws OperationalError `data_dir_in_use`, `data_dir_unwritable`, `store_elsewhere`, `storage_failed`, `database_newer`, `database_damaged`, `port_in_use`, `agent_user_unsupported`; Rejection for
 *   a repository that cannot be registered
 */
export async function startOrchestrator(config: OrchestratorConfig, options: ComposeOptions): Promise<Orchestrator> {
  const { log, platform = nodePlatform, onUpdate = () => undefined } = options;
  const life = createLifecycle(log);
  const context = { config, log, platform, limits: { ...TIME_LIMITS, ...options.limits }, life };
  try {
    requireOwnUser(config);
    const { storage, metrics, loopDelay } = await openMeasured(context, options);
    const stores = await joinMachines(context, storage, () => options.onLost?.('this machine was declared lost'));
    const { all: store, own, membership } = stores;
    const repositories = await openRepositories(context, { all: store, own }, options.env);
    const saved = await saveFiles(context, { store, membership, ...repositories });
    const programs = watchPrograms(context, repositories);
    logClaudeUpdates(programs.login, onUpdate);
    const outboxSignal = createSignal<StageId>();
    const deltas = createDeltas<TextDelta>();
    const nows = createDeltas<SessionNowUpdate>();
    await saveOrphanedWork(context, { ...repositories, store, membership });
    const running = await runSessions(context, {
      ...repositories,
      ...programs,
      store: own,
      outboxSignal,
      membership,
      onTextDelta: deltas.pass,
      onSessionNow: nows.pass,
      onLaunchUpdate: metrics.countLaunch,
    });
    const services = await createServices(
      context,
      { ...storage, ...stores, ...saved, ...repositories, ...running, outboxSignal, claude: programs.claude },
      options,
    );
    const startHolds = createStartDelays();
    const machine = { ...storage, ...services, ...programs, ...running, startHolds };
    const machines = membership?.machines ?? null;
    const read = createViews({ ...storage, ...running, store, platform, machine, machines });
    const handlers = commandHandlers({
      ...read,
      store,
      metrics,
      loopDelay,
      machines,
      ...saved,
      ...repositories,
      ...running,
      ...services,
    });
    storage.spawner.end = useSpawner(); // not earlier: no spawn at a start is urgent, so the start does not wait for one more process
    const router = membership?.routeWith(services.logins);
    const execution = { handlers, ...services, log, router, executed: createExecutedCommands<Outcome>() };
    const serving = { ...config, ...execution, ...read, ...membership, store, version: VERSION };
    const gateway = await openGateway(serving);
    life.onStop('gateway', gateway.close);
    deltas.listen(gateway.onTextDelta);
    nows.listen(gateway.onSessionNow);
    await storage.lock.setPort(gateway.port);
    const automated = { ...repositories, ...machine, ...stores, store: own };
    const { scheduler, mayStart, endAllIdle } = await startAutomation(context, automated);
    beginMembership(context, membership, {
      ...programs,
      ...running,
      own,
      execution,
      scheduler,
      mayStart,
      outboxSignal,
    });
    recoverOrphanedWorktrees(context, membership, { ...saved, ...repositories, store });
    reactToChanges(context, { machine, store: own, sessions: running.sessions, scheduler, gateway, onUpdate });
    return {
      port: gateway.port,
      createLoginCode: services.logins.createCode,
      createTerminalLogin: services.logins.createTerminal,
      requireCaller: services.callers.requireHolder,
      execute: (frame, watch) => executeCommand(execution, frame, watch),
      onEvent: store.onEvent,
      onTextDelta: deltas.listen,
      endIdle: endAllIdle,
      stop: life.stop,
    };
  } catch (error) {
    await life.stop();
    throw error;
  }
}

/** @throws OperationalError `agent_user_unsupported` */
function requireOwnUser({ agentUser }: OrchestratorConfig): void {
  if (agentUser === null) return;
  const message = 'Running Claude Code as another user (--agent-user) is not possible yet.';
  throw new OperationalError('agent_user_unsupported', message);
}

/** Opens the storage, whose transactions the metrics time from here on. Throws as `openStorage`. */
async function openMeasured(context: StartContext, { onLost }: ComposeOptions) {
  const { platform, life } = context;
  const { read: loopDelay, stop } = watchLoopDelay();
  life.onStop('loop delay', stop);
  const metrics = createMetrics({ platform, loopDelay, version: VERSION });
  const opened = await openStorage(context, () => onLost?.('the shared store has lost commits in a crash'));
  const storage = { ...opened, store: metrics.timed(opened.store) };
  life.onStop('metrics', metrics.watch(storage.store));
  return { storage, metrics, loopDelay };
}

/** Claude Code and its sandbox, as installed on this machine. */
function watchPrograms({ config, log, platform, limits, life }: StartContext, { env, claudeEnv }: Repositories) {
  const { dataDir, claudePath } = config;
  const { trialDelayMs } = limits;
  const find = () => findClaude(claudePath, env.PATH);
  const login = createLoginWatch({
    log,
    platform,
    env,
    home: homeOf(env),
    findClaude: find,
    checkIntervalMs: limits.loginCheckIntervalMs,
    askLogin: (program) => askLogin(program, env),
  });
  life.onStop('login', login.stop);
  const claude = createClaudeWatch({
    dataDir,
    log,
    env,
    trialDelayMs,
    findClaude: () =>
      find().catch((error: unknown) => {
        login.sawMissing(error);
        throw error;
      }),
  });
  life.onStop('claude', claude.stop);
  const sandbox = createSandboxWatch({ log, attempt: (signal) => checkSandbox(claudeEnv, signal) });
  life.onStop('sandbox', sandbox.stop);
  return { claude, sandbox, login };
}

/** What is passed on and never stored, for the gateway and for embedders. */
function createDeltas<T>() {
  const listeners = new Set<(delta: T) => void>();
  return {
    pass(delta: T): void {
      for (const listener of listeners) listener(delta);
    },
    listen(listener: (delta: T) => void): () => void {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
