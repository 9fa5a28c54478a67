import { homedir } from 'node:os';
import { type BoardEvent, boardView, type SessionNowUpdate, type StageId, type TextDelta } from '@callboard/contract';
import { createLifecycle } from '@callboard/runtime/lifecycle';
import { watchLoopDelay } from '@callboard/runtime/loop-delay';
import type { OrchestratorConfig } from '@callboard/runtime/supervision';
import { createApprovalService } from './approvals/approval-service.ts';
import { startHeldAnswers } from './approvals/held-answers.ts';
import { startPeople } from './approvals/people.ts';
import { createLostAnswers } from './approvals/settle-answers.ts';
import { startTimeLimits } from './approvals/time-limits.ts';
import { createLogins } from './auth/logins.ts';
import { ownerName } from './auth/owner-name.ts';
import { findClaude } from './claude/program/find-claude.ts';
import { checkSandbox } from './claude/sandbox/sandbox-check.ts';
import { createComments } from './comments/comments.ts';
import { createViewed } from './comments/viewed.ts';
import { startAutomation } from './compose/automation.ts';
import { boardNotices } from './compose/board-notices.ts';
import { composeBudgets } from './compose/budgets.ts';
import { completeStages } from './compose/complete-stages.ts';
import { composeGoingBack } from './compose/going-back.ts';
import { keepFiles } from './compose/keep-files.ts';
import { composeRules } from './compose/keep-rules.ts';
import { openRepositories, type Repositories } from './compose/open-repositories.ts';
import { openStorage, type Storage } from './compose/open-storage.ts';
import { composeIssues, composePullRequests } from './compose/pull-requests.ts';
import { reactToChanges } from './compose/react-to-changes.ts';
import { runChecks } from './compose/run-checks.ts';
import { type RunningSessions, runSessions } from './compose/run-sessions.ts';
import { runSideRuns } from './compose/run-side-runs.ts';
import { type StartContext, TIME_LIMITS, type TimeLimits } from './compose/start-context.ts';
import { tellPeople } from './compose/tell-people.ts';
import { createConversations } from './conversations/conversations.ts';
import { startWriteWatch } from './disk/write-watch.ts';
import { tellClaudeNews } from './doctor/claude-news.ts';
import { type ClaudeWatch, createClaudeWatch } from './doctor/claude-watch.ts';
import { askLogin } from './doctor/inspect-claude.ts';
import { createLoginWatch } from './doctor/login-watch.ts';
import { createSandboxWatch } from './doctor/sandbox-watch.ts';
import { commandHandlers } from './gateway/command-handlers.ts';
import { executeCommand } from './gateway/execute-command.ts';
import { openGateway } from './gateway/gateway.ts';
import { startHolds } from './holds/holds.ts';
import { type Bell, createBell } from './lib/bell.ts';
import { type Edges, nodeEdges } from './lib/edges.ts';
import { OperationalError } from './lib/errors.ts';
import type { Logger } from './lib/logger.ts';
import { useSpawner } from './lib/processes/processes.ts';
import { createLimits } from './limits/limits.ts';
import { createDrafts } from './messages/drafts.ts';
import { createMessageQueue } from './messages/message-queue.ts';
import { createMetrics } from './metrics/metrics.ts';
import { createReceipts } from './receipts/receipts.ts';
import { createStartHolds } from './scheduler/start-gates.ts';
import { createLeftoverProcesses } from './sessions/launch/leftover-processes.ts';
import { createSessionControls } from './sessions/session-controls.ts';
import { capabilitiesOf } from './stages/capabilities.ts';
import { createStageExports } from './stages/export-stages.ts';
import { createStageImports } from './stages/import-stages.ts';
import { createProjects } from './stages/projects.ts';
import { createStageRemoval } from './stages/remove-stage.ts';
import { createStages } from './stages/stages.ts';
import { createWorktreeFiles } from './stages/worktree-files.ts';
import type { Trash } from './trash/trash.ts';
import { VERSION } from './version.ts';
import { createBoardViews, withLiveNow } from './views/board-views.ts';
import { createNumberViews } from './views/number-views.ts';
import { createSearchViews } from './views/search-views.ts';

export interface ComposeOptions {
  log: Logger;
  /** The environment of Callboard; children get the user's part of it. */
  env: Readonly<Record<string, string | undefined>>;
  edges?: Edges;
  /** Called with the SHA-256, in hex, of each login code that was used. */
  onCodeUsed?: (codeSha256: string) => void;
  /** Called with what the terminal should say about Claude Code: that it is missing or not logged in, and that this is over. */
  onClaudeNews?: (line: string) => void;
  limits?: Partial<TimeLimits>;
}

export interface Orchestrator {
  /** Where the WebSocket server listens. */
  readonly port: number;
  /** Returns a one-time code for a login link. */
  createLoginCode(): Promise<string>;
  /** Logs a terminal in. Returns its token. @param name in words */
  createTerminalLogin(name: string): Promise<string>;
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
  const { log, edges = nodeEdges } = options;
  const life = createLifecycle(log);
  const context = { config, log, edges, limits: { ...TIME_LIMITS, ...options.limits }, life };
  try {
    if (config.agentUser !== null) {
      const message = 'Running Claude Code as another user (--agent-user) is not possible yet.';
      throw new OperationalError('agent_user_unsupported', message);
    }
    const { storage, metrics, loopDelay } = await openMeasured(context);
    const repositories = await openRepositories(context, storage, options.env);
    const kept = await keepFiles(context, { ...storage, ...repositories });
    const programs = watchPrograms(context, repositories);
    if (options.onClaudeNews !== undefined) tellClaudeNews(programs.login, options.onClaudeNews);
    const outboxBell = createBell<StageId>();
    const deltas = createDeltas<TextDelta>();
    const nows = createDeltas<SessionNowUpdate>();
    const { store } = storage;
    const running = await runSessions(context, {
      ...{ ...repositories, ...programs, store, outboxBell },
      onTextDelta: deltas.pass,
      onSessionNow: nows.pass,
      onLaunchNews: metrics.countLaunch,
    });
    const services = await createServices(
      context,
      { ...storage, ...kept, ...repositories, ...running, outboxBell, claude: programs.claude },
      options,
    );
    const startHolds = createStartHolds();
    const machine = { ...storage, ...services, ...programs, ...running, startHolds };
    const notices = () => boardNotices(machine);
    const { of: liveNow } = running.liveNows;
    const board = async () => withLiveNow(boardView({ ...(await store.board()), ...(await notices()) }), liveNow);
    const views = createBoardViews({ store, board, liveNow, now: () => edges.now().toISOString() });
    const searchViews = createSearchViews({ store, searchIndex: storage.searchIndex, board });
    const numberViews = createNumberViews({ store, edges });
    const read = { store, views, searchViews, numberViews, metrics, loopDelay };
    const handlers = commandHandlers({ ...read, ...kept, ...repositories, ...running, ...services });
    storage.spawner.end = useSpawner(); // not earlier: no spawn at a start is urgent, so the start does not wait for one more process
    const { host, port, secret } = config;
    const { logins } = services;
    const gateway = await openGateway({ store, board, log, handlers, logins, host, port, secret, version: VERSION });
    life.onStop('gateway', gateway.close);
    deltas.listen(gateway.onTextDelta);
    nows.listen(gateway.onSessionNow);
    await storage.lock.setPort(gateway.port);
    const automated = { ...repositories, ...machine };
    const { scheduler, endAllIdle } = await startAutomation(context, automated);
    reactToChanges(context, { machine, store, sessions: running.sessions, scheduler, gateway });
    return {
      port: gateway.port,
      createLoginCode: logins.createCode,
      createTerminalLogin: logins.createTerminal,
      execute: (frame, watch) => executeCommand({ handlers, logins, log }, frame, watch),
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

/** The person's home folder. */
const homeOf = ({ HOME }: Readonly<Record<string, string>>): string => HOME ?? homedir();

/** Opens the storage, whose transactions the metrics time from here on. Throws as `openStorage`. */
async function openMeasured(context: StartContext) {
  const { edges, life } = context;
  const { read: loopDelay, stop } = watchLoopDelay();
  life.onStop('loop delay', stop);
  const metrics = createMetrics({ edges, loopDelay, version: VERSION });
  const opened = await openStorage(context);
  const storage = { ...opened, store: metrics.timed(opened.store) };
  life.onStop('metrics', metrics.watch(storage.store));
  return { storage, metrics, loopDelay };
}

/** Claude Code and its sandbox, as installed on this machine. */
function watchPrograms({ config, log, edges, limits, life }: StartContext, { env, claudeEnv }: Repositories) {
  const { dataDir, claudePath } = config;
  const { trialDelayMs } = limits;
  const find = () => findClaude(claudePath, env.PATH);
  const login = createLoginWatch({
    ...{ log, edges, env, home: homeOf(env), findClaude: find, lookMs: limits.loginLookMs },
    askLogin: (program) => askLogin(program, env),
  });
  life.onStop('login', login.stop);
  const claude = createClaudeWatch({
    ...{ dataDir, log, env, trialDelayMs },
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

type ServiceParts = Storage &
  Repositories &
  RunningSessions & { outboxBell: Bell<StageId>; trash: Trash; claude: ClaudeWatch };

/** The services that people's commands use. */
async function createServices(context: StartContext, parts: ServiceParts, { onCodeUsed }: ComposeOptions) {
  const { config, log, edges, limits, life } = context;
  const { store, worktrees, trust, sessions, outboxBell, env, trash, onDiff } = parts;
  const { confirmationMs, graces } = limits;
  const projects = createProjects({ store, worktrees, home: homeOf(env), dataDir: config.dataDir });
  for (const path of config.repos) await projects.register({ path });
  const { tokenSha256, publicUrl } = config;
  const logins = await createLogins({
    ...{ store, edges, ownerName: ownerName(), tokenSha256, publicUrl },
    ...(onCodeUsed && { onCodeUsed }),
  });
  await trust.refreshAll();
  const approvals = createApprovalService({ store, outboxBell, confirmationMs });
  const messages = createMessageQueue({
    ...{ store, edges, outboxBell, confirmationMs },
    resumeWith: sessions.resumeWith,
    takeBackIfGone: parts.terminals.takeBackIfGone,
    interrupt: sessions.interrupt,
    requireClaude: async () => void (await findClaude(config.claudePath, env.PATH)),
    onInterruptFailed: (stageId, error) => log.warn({ err: error, stageId }, 'an interrupt failed'),
  });
  const timeLimits = await startTimeLimits({ store, edges, log, expire: approvals.expire });
  life.onStop('time limits', timeLimits.stop);
  const heldAnswers = await startHeldAnswers({ store, edges, log, outboxBell, holdMs: limits.answerHoldMs });
  life.onStop('held answers', heldAnswers.stop);
  const people = await startPeople({ store, edges, log });
  life.onStop('people', people.stop);
  const writes = startWriteWatch({ store, log, retryMs: limits.diskLookMs });
  life.onStop('write watch', writes.stop);
  const { interrupt, resumeReleased } = sessions;
  const holds = startHolds({ store, log, interrupt, resumeReleased });
  life.onStop('holds', holds.stop);
  const receipts = createReceipts({ store });
  const completion = await completeStages(context, { ...parts, receipts });
  const { ofProject: settingsOf, pipelinesFor } = parts.stageSettings;
  const stages = createStages({ store, worktrees, settingsOf, pipelinesFor });
  const checks = await runChecks(context, parts);
  const sideRuns = await runSideRuns(context, parts);
  const goingBack = await composeGoingBack(context, { ...parts, stages });
  const pullRequests = await composePullRequests(context, { ...parts, messages, completion, receipts });
  return {
    ...{ projects, logins, approvals, heldAnswers, holds, people, messages, writes, stages },
    ...(await tellPeople(context, { store, env })),
    ...{ completion, pullRequests, receipts, checks, sideRuns },
    ...goingBack,
    ...(await composeRules(context, { ...parts, messages })),
    ...composeBudgets(context, { store, sessions, messages, sideRuns }),
    removal: createStageRemoval({ store, stages, worktrees, trash, cleanUp: parts.cleanUp.beforeRemoval }),
    files: createWorktreeFiles({ store, worktrees, onDiff }),
    comments: createComments({ store, edges, worktrees, messages }),
    viewed: createViewed({ store }),
    usageLimits: createLimits({ store, outboxBell, resumeWith: sessions.resumeWith, repeatIn: sessions.repeatIn }),
    controls: createSessionControls({ store, ask: sessions.ask }),
    leftovers: createLeftoverProcesses({ store, graceMs: graces.signalMs }),
    lostAnswers: createLostAnswers({ store, sendText: messages.sendTextIn }),
    conversations: createConversations({
      ...{ store, worktrees, stages, env: parts.claudeEnv },
      dataDir: config.dataDir,
    }),
    issues: composeIssues(context, { store, worktrees, env, stages }),
    drafts: createDrafts({ store }),
    capabilities: (wanted: Parameters<typeof capabilitiesOf>[1]) => capabilitiesOf(store, wanted),
    exports: createStageExports({ store, home: homeOf(env), pipelinesFor }),
    imports: createStageImports({ store, worktrees, home: homeOf(env), pipelinesFor }),
  };
}
