import {
  type BoardEvent,
  boardCounts,
  boardView,
  isWorking,
  type LoopDelay,
  type SessionNowUpdate,
  type StageId,
  type TextDelta,
} from '@callboard/contract';
import { createEmitter } from '@callboard/runtime/emitter';
import { userEnvironment } from '@callboard/runtime/environment';
import { createLifecycle } from '@callboard/runtime/lifecycle';
import { watchLoopDelay } from '@callboard/runtime/loop-delay';
import type { OrchestratorConfig } from '@callboard/runtime/supervision';
import { homeOf, type StartContext, TIME_LIMITS, type TimeLimits } from './compose/context.ts';
import { createServices } from './compose/create-services.ts';
import type { LoadSharedStores, Membership } from './compose/membership.ts';
import { joinStores, openStorage, type Storage } from './compose/open-storage.ts';
import { boardNotices, type NoticeSources, reactToChanges, startAutomation } from './compose/react-to-changes.ts';
import { openRepositories, type Repositories, runSessions } from './compose/run-sessions.ts';
import { findClaude } from './core/claude/claude-program.ts';
import { checkSandbox } from './core/claude/sandbox.ts';
import type { CommandHandlers } from './core/commands/command-handler.ts';
import type { LiveNows } from './core/executor/live-now.ts';
import { createStartDelays, type Scheduler } from './core/launch/scheduler.ts';
import type { Sessions } from './core/launch/sessions.ts';
import { type BoardViews, createBoardViews, withLiveNow } from './core/session/board-views.ts';
import { type ClaudeWatch, createClaudeWatch, logClaudeUpdates } from './doctor/claude-watch.ts';
import { askLogin } from './doctor/inspect.ts';
import { createLoginWatch } from './doctor/login-watch.ts';
import { createSandboxWatch } from './doctor/sandbox-watch.ts';
import { type RequestDeps, requestCommands } from './features/approvals/approvals.ts';
import type { People } from './features/approvals/people.ts';
import { type BudgetDeps, budgetCommands } from './features/budgets/budgets.ts';
import { changesCommands } from './features/changes/changes.ts';
import { type CheckDeps, checkCommands } from './features/checks/checks.ts';
import { type CommentDeps, commentCommands } from './features/comments/comments.ts';
import { type CrashDeps, crashCommands } from './features/crash/crash.ts';
import { type WorkspaceDeps, workspaceCommands } from './features/dev-servers/dev-servers.ts';
import { type MoveInDeps, moveInCommands } from './features/import/import.ts';
import { type LimitDeps, limitCommands } from './features/limits/limits.ts';
import { findPairing } from './features/logins/find-pairing.ts';
import { type LoginDeps, loginCommands } from './features/logins/login-commands.ts';
import { type MachineDeps, type Machines, machineCommands } from './features/machines/machines.ts';
import { type CompletionDeps, completionCommands } from './features/merge/complete-stage.ts';
import { createDraftFiles } from './features/messages/drafts.ts';
import { type MessageDeps, messageCommands } from './features/messages/messages.ts';
import { createMetrics, type MetricsCommandDeps, metricsCommands } from './features/metrics/metrics.ts';
import { settleCompleted } from './features/notifications/notifications.ts';
import { createNumberViews, type NumberViews } from './features/numbers/numbers.ts';
import { type PauseDeps, pauseCommands } from './features/pauses/pauses.ts';
import { type ProjectDeps, projectCommands } from './features/projects/projects.ts';
import { type PullRequestDeps, pullRequestCommands } from './features/pull-requests/pull-requests.ts';
import { type PushDeps, pushCommands } from './features/push/push.ts';
import { receiptCommands } from './features/receipts/receipts.ts';
import { reviewCommands } from './features/review/review.ts';
import { type RewindCommandDeps, rewindCommands } from './features/rewind/rewind.ts';
import { type RuleDeps, ruleCommands } from './features/rules/denial-retries.ts';
import { createSearchViews, type SearchViews } from './features/search/search.ts';
import { type SessionDeps, sessionCommands } from './features/sessions/session-controls.ts';
import { type StageDeps, stageCommands } from './features/stages/stage-commands.ts';
import { startPruning, type WriteWatch } from './features/storage/storage.ts';
import { terminalCommands } from './features/terminal/terminals.ts';
import {
  createWorktreeCleaning,
  createWorktreeSizes,
  type TrashCommandDeps,
  trashCommands,
} from './features/trash/clean-worktrees.ts';
import { createTrash } from './features/trash/trash.ts';
import { trustCommands } from './features/trust/trust.ts';
import { type WebhookDeps, webhookCommands } from './features/webhooks/webhooks.ts';
import type { Callers } from './gateway/callers.ts';
import {
  createExecutedCommands,
  type ExecutionDeps,
  executeCommand,
  executeForeign,
  type Outcome,
} from './gateway/execute-command.ts';
import { openGateway } from './gateway/gateway.ts';
import { OperationalError } from './lib/errors.ts';
import { useSpawner } from './platform/processes.ts';
import { type Logger, nodePlatform, type Platform } from './platform/runtime.ts';
import type { SearchIndex } from './store/search/search-text.ts';
import { textWithOutlook } from './store/storage-error.ts';
import type { Store } from './store/store.ts';
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
  /** Has the supervisor kill this process and the web server, for a person who wants to see them return. */
  crash?: () => void;
  limits?: Partial<TimeLimits>;
  /** Called if the configuration has the address of a database. */
  loadSharedStores?: LoadSharedStores;
}

export interface Orchestrator {
  /** Where the WebSocket server listens. */
  readonly port: number;
  /** Returns a one-time code for a login link. */
  createLoginCode(): Promise<string>;
  /** Logs a terminal in. Returns its token. @param name in words */
  createTerminalLogin(name: string): Promise<string>;
  /** The repository in which it was started; null if it is none, or a project already. */
  readonly repositoryHere: string | null;
  /** Registers a repository. @throws Rejection `not_a_repository`, `no_commits` */
  addProject(path: string): Promise<void>;
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
    const stores = await joinStores(context, storage, () => options.onLost?.('this machine was declared lost'));
    const { all: store, own, membership } = stores;
    const repositories = await openRepositories(context, { all: store, own }, options.env);
    const saved = await saveFiles(context, { store, membership, ...repositories });
    const programs = watchPrograms(context, repositories);
    logClaudeUpdates(programs.login, onUpdate);
    const deltas = createEmitter<TextDelta>();
    const nows = createEmitter<SessionNowUpdate>();
    await membership.saveOrphanedWork(repositories);
    const running = await runSessions(context, {
      ...repositories,
      ...programs,
      store: own,
      membership,
      onTextDelta: deltas.emit,
      onSessionNow: nows.emit,
      onLaunchUpdate: metrics.countLaunch,
    });
    const services = await createServices(
      context,
      { ...storage, ...stores, ...saved, ...repositories, ...running, claude: programs.claude },
      options,
    );
    const startHolds = createStartDelays();
    const machine = { ...storage, ...services, ...programs, ...running, startHolds };
    const { machines } = membership;
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
      crash: options.crash,
      findPairing: async () => (config.publicUrl === null ? findPairing({ ...repositories, ...config }) : null),
    });
    // Not earlier: no spawn at a start is urgent, so the start does not wait for one more process.
    storage.spawner.end = useSpawner(config.supervisorSpawns ? { env: userEnvironment(options.env) } : null);
    const router = membership.routeWith(services.logins);
    const execution = { handlers, ...services, log, router, executed: createExecutedCommands<Outcome>() };
    const serving = { ...config, ...execution, ...read, ...membership, store, version: VERSION };
    const gateway = await openGateway(serving);
    life.onStop('gateway', gateway.close);
    deltas.subscribe(gateway.onTextDelta);
    nows.subscribe(gateway.onSessionNow);
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
    });
    membership.recoverOrphanedWorktrees({ ...saved, ...repositories });
    reactToChanges(context, { machine, store: own, sessions: running.sessions, scheduler, gateway, onUpdate });
    return {
      port: gateway.port,
      createLoginCode: services.logins.createCode,
      createTerminalLogin: services.logins.createTerminal,
      repositoryHere: await services.projects.repositoryHere(),
      addProject: async (path) => {
        const { project } = await services.projects.register({ path });
        await repositories.trust.refresh(project.id);
      },
      requireCaller: services.callers.requireHolder,
      execute: (frame, watch) => executeCommand(execution, frame, watch),
      onEvent: store.onEvent,
      onTextDelta: deltas.subscribe,
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
async function openMeasured(context: StartContext, { onLost, loadSharedStores = noSharedStores }: ComposeOptions) {
  const { platform, life } = context;
  const { read: loopDelay, stop } = watchLoopDelay();
  life.onStop('loop delay', stop);
  const metrics = createMetrics({ platform, loopDelay, version: VERSION });
  const opened = await openStorage(context, {
    loadSharedStores,
    onCommitsLost: () => onLost?.('the shared store has lost commits in a crash'),
  });
  const storage = { ...opened, store: metrics.timed(opened.store) };
  life.onStop('metrics', metrics.watch(storage.store));
  return { storage, metrics, loopDelay };
}

const noSharedStores = () =>
  Promise.reject(new OperationalError('storage_failed', 'This program of Callboard cannot use a PostgreSQL database.'));

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

interface BeginDeps {
  own: Store;
  execution: ExecutionDeps;
  sessions: Pick<Sessions, 'executors'>;
  scheduler: Pick<Scheduler, 'schedule'>;
  mayStart: () => boolean;
  claude: Pick<ClaudeWatch, 'program'>;
}

/** Lets this machine work for the others. */
function beginMembership({ config }: StartContext, membership: Membership, deps: BeginDeps): void {
  const { own, execution, sessions, scheduler, mayStart, claude } = deps;
  membership.begin({
    async workload() {
      const working = (await own.read.sessions.list()).filter(({ state }) => isWorking(state)).length;
      const freeSlots = mayStart() ? Math.max(0, config.maxParallel - working) : 0;
      const program = await claude.program().catch(() => null);
      return { claudeVersion: program?.version ?? null, sessions: sessions.executors().length, freeSlots };
    },
    execute: (command) => executeForeign(execution, command),
    onMayWriteAgain() {
      for (const executor of sessions.executors()) executor.checkOutbox();
      scheduler.schedule();
    },
    onMachineUpdate: scheduler.schedule,
  });
}

interface ViewDeps {
  store: Store;
  searchIndex: SearchIndex;
  platform: Platform;
  /** The parts that the state of the machine depends on. */
  machine: NoticeSources;
  machines: Machines;
  liveNows: Pick<LiveNows, 'of'>;
}

/** What reads the store in the shape that clients get. */
function createViews({ store, searchIndex, platform, machine, machines, liveNows }: ViewDeps) {
  const liveNow = liveNows.of;
  const board = async () => {
    const parts = { ...(await store.board()), ...(await boardNotices(machine)) };
    return withLiveNow(boardView({ ...parts, machines: await machines.list() }), liveNow);
  };
  const views = createBoardViews({ store, board, liveNow, now: () => platform.now().toISOString() });
  const searchViews = createSearchViews({ store, searchIndex, board });
  return { board, views, searchViews, numberViews: createNumberViews({ store, platform }) };
}

/**
 * Files of drafts and of worktrees that were taken away, which are deleted after a while. Before anything else uses a worktree,
 * interrupted clean-ups are settled.
 */
async function saveFiles(
  { config, log, platform, life }: StartContext,
  { store, worktrees, cleanUp, env, membership }: Pick<Storage, 'store'> & { membership: Membership } & Repositories,
) {
  const { here } = membership;
  const { dataDir } = config;
  const draftFiles = createDraftFiles({ store });
  const trash = createTrash({ store, platform, log, dataDir, worktrees, here });
  const sizes = createWorktreeSizes({ env, now: platform.now, uptimeMs: platform.uptimeMs });
  const cleaning = createWorktreeCleaning({
    store,
    platform,
    log,
    dataDir,
    here,
    trash,
    worktrees,
    sizes,
    cleanUp: cleanUp.beforeRemoval,
  });
  await cleaning.settle();
  const forget = { forgetDraftFiles: draftFiles.forgetOlder, forgetTrash: trash.forgetOlder, settleCompleted };
  const pruning = startPruning({ store, platform, log, ...forget });
  life.onStop('pruning', pruning.stop);
  life.onStop('worktree sizes', sizes.stop);
  return { draftFiles, trash, cleaning };
}

export type HandlerDeps = BoardParts &
  ProjectDeps &
  StageDeps &
  SessionDeps &
  MessageDeps &
  PullRequestDeps &
  RequestDeps &
  PushDeps &
  WebhookDeps &
  WorkspaceDeps &
  MoveInDeps &
  Parameters<typeof reviewCommands>[0] &
  CommentDeps &
  Parameters<typeof changesCommands>[0] &
  CheckDeps &
  CompletionDeps &
  TrashCommandDeps &
  Parameters<typeof terminalCommands>[0] &
  Parameters<typeof trustCommands>[0] &
  Parameters<typeof receiptCommands>[0] &
  MetricsCommandDeps &
  RewindCommandDeps &
  LimitDeps &
  PauseDeps &
  MachineDeps &
  CrashDeps &
  BudgetDeps &
  RuleDeps &
  LoginDeps;

/** Returns the handlers of all commands; each group has its own file. */
const commandHandlers = (deps: HandlerDeps): CommandHandlers => ({
  ...boardCommands(deps),
  ...projectCommands(deps),
  ...stageCommands(deps),
  ...sessionCommands(deps),
  ...messageCommands(deps),
  ...pullRequestCommands(deps),
  ...requestCommands(deps),
  ...pushCommands(deps),
  ...webhookCommands(deps),
  ...workspaceCommands(deps),
  ...reviewCommands(deps),
  ...commentCommands(deps),
  ...changesCommands(deps),
  ...checkCommands(deps),
  ...completionCommands(deps),
  ...trashCommands(deps),
  ...terminalCommands(deps),
  ...trustCommands(deps),
  ...receiptCommands(deps),
  ...moveInCommands(deps),
  ...rewindCommands(deps),
  ...limitCommands(deps),
  ...pauseCommands(deps),
  ...machineCommands(deps),
  ...crashCommands(deps),
  ...budgetCommands(deps),
  ...ruleCommands(deps),
  ...loginCommands(deps),
  ...metricsCommands(deps),
});

export interface BoardParts {
  views: BoardViews;
  searchViews: SearchViews;
  numberViews: NumberViews;
  people: Pick<People, 'find'>;
  loopDelay: () => LoopDelay;
  writes: Pick<WriteWatch, 'storageError'>;
}

type BoardCommands = 'get_board' | 'get_counts' | 'get_events' | 'get_numbers' | 'search' | 'watch';

const boardCommands = ({
  views,
  searchViews,
  numberViews,
  people,
  loopDelay,
  writes,
}: BoardParts): Pick<CommandHandlers, BoardCommands> => ({
  // The person is read last, so that nothing up to `seq` is missing.
  get_board: async (_, { actor }) => ({ ...(await views.board()), me: await people.find(actor.name) }),
  async get_counts() {
    const storageError = writes.storageError();
    const storeTrouble = storageError === null ? null : textWithOutlook(storageError);
    return { counts: boardCounts(await views.board()), loopDelay: loopDelay(), storeTrouble };
  },
  get_events: views.events,
  get_numbers: numberViews.numbers,
  search: (query, { actor }) => searchViews.search(query, actor.name),
  watch: async ({ stageIds }, { watch }) => {
    watch(stageIds);
    return {};
  },
});
