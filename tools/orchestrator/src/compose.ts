import { type BoardEvent, type BoardNotices, boardView, type StageId, type TextDelta } from '@callboard/contract';
import { createLifecycle } from '@callboard/runtime/lifecycle';
import { watchLoopDelay } from '@callboard/runtime/loop-delay';
import type { OrchestratorConfig } from '@callboard/runtime/supervision';
import { createApprovalService } from './approvals/approval-service.ts';
import { createLostAnswers } from './approvals/settle-answers.ts';
import { startTimeLimits } from './approvals/time-limits.ts';
import { createLogins } from './auth/logins.ts';
import { ownerName } from './auth/owner-name.ts';
import { findClaude } from './claude/program/find-claude.ts';
import { checkSandbox } from './claude/sandbox/sandbox-check.ts';
import { lockDataDir, requireWritable } from './compose/data-dir-access.ts';
import { dataDirLayout } from './data-dir.ts';
import { startDiskWatch } from './disk/disk-watch.ts';
import { startWriteWatch } from './disk/write-watch.ts';
import { createClaudeWatch } from './doctor/claude-watch.ts';
import { createSandboxWatch } from './doctor/sandbox-watch.ts';
import { commandHandlers } from './gateway/command-handlers.ts';
import { executeCommand } from './gateway/execute-command.ts';
import { openGateway } from './gateway/gateway.ts';
import { environmentForSandbox } from './isolation/bwrap-wrapper.ts';
import { createBell } from './lib/bell.ts';
import { type Edges, nodeEdges } from './lib/edges.ts';
import { OperationalError } from './lib/errors.ts';
import type { Logger } from './lib/logger.ts';
import { useSpawner } from './lib/processes/processes.ts';
import { userEnvironment } from './lib/user-environment.ts';
import { createDraftFiles } from './messages/draft-files.ts';
import { createDrafts } from './messages/drafts.ts';
import { createMessageQueue } from './messages/message-queue.ts';
import { startScheduler } from './scheduler/scheduler.ts';
import { createLeftoverProcesses } from './sessions/launch/leftover-processes.ts';
import { reAttachLaunches } from './sessions/launch/re-attach-launches.ts';
import type { StopGraces } from './sessions/launch/stop-launch.ts';
import { createSessionControls } from './sessions/session-controls.ts';
import { createSessions } from './sessions/sessions.ts';
import { startBackgroundSync } from './sessions/watch/background-sync.ts';
import { startChangeCounts } from './sessions/watch/change-counts.ts';
import { createDenyingRuleLookup } from './sessions/watch/denying-rule-lookup.ts';
import { startIdleWatch } from './sessions/watch/idle-watch.ts';
import { startLowPriorityWork } from './sessions/watch/low-priority-work.ts';
import { startSettingsWatch } from './sessions/watch/settings-watch.ts';
import { startSilenceWatch } from './sessions/watch/silence-watch.ts';
import { capabilitiesOf } from './stages/capabilities.ts';
import { createStageCompletion } from './stages/complete-stage.ts';
import { createGitSettings } from './stages/git-settings.ts';
import { createStageImports } from './stages/import-stages.ts';
import { createProjects } from './stages/projects.ts';
import { createStageRemoval } from './stages/remove-stage.ts';
import { createRepositories } from './stages/repositories.ts';
import { createStages } from './stages/stages.ts';
import { createWorktreeFiles } from './stages/worktree-files.ts';
import { startPruning } from './store/pruning.ts';
import { openSqliteStore } from './store/sqlite/sqlite-store.ts';
import { createTrash } from './trash/trash.ts';
import { createTrust } from './trust/trust.ts';
import { VERSION } from './version.ts';
import { createBoardViews } from './views/board-views.ts';
import { createWorktrees } from './worktrees/worktrees.ts';

export interface ComposeOptions {
  log: Logger;
  /** The environment that we were started with; children get the user's part of it. */
  env: Readonly<Record<string, string | undefined>>;
  edges?: Edges;
  /** Hears when somebody has logged in with a code: its SHA-256, in hex. */
  onCodeUsed?: (codeSha256: string) => void;
  limits?: Partial<TimeLimits>;
}

export interface Orchestrator {
  /** Where the WebSocket server listens. */
  readonly port: number;
  /** A one-time code for a login link. */
  createLoginCode(): Promise<string>;
  /** For an embedder in the same process (`createInProcessTransport` of the contract's client). */
  execute(frame: string, watch: (stageIds: readonly StageId[]) => void): Promise<unknown>;
  onEvent(listener: (event: BoardEvent) => void): () => void;
  onTextDelta(listener: (delta: TextDelta) => void): () => void;
  /** Ends the processes of all sessions that are idle now, to free their memory. */
  endIdle(): Promise<void>;
  /** Lets go of everything in reverse order; sessions go on. */
  stop(): Promise<void>;
}

/** How long things may take, or be. Tests have less patience. */
export interface TimeLimits {
  graces: StopGraces;
  /** From the spawn of `claude` to its answer to `initialize`. */
  initializeMs: number;
  /** How long the reply to an answer waits for the CLI's confirmation. */
  confirmationMs: number;
  /** An idle process holds some 200 MiB; the next message resumes its session in under a second. */
  idleMs: number;
  watchdogLookMs: number;
  /** How often settings files of running sessions are looked at. */
  settingsLookMs: number;
  /** How often the free space of the disk is looked at, and a store that cannot write is tried. */
  diskLookMs: number;
  /** How long what was committed without a sync of its own may wait for one. */
  syncMs: number;
  /** How often sessions are tried that could not be taken up again. */
  againMs: number;
  /** How long after a start a `claude` that nobody has tried is tried, in the background. */
  trialDelayMs: number;
}

const TIME_LIMITS: TimeLimits = {
  graces: { interruptMs: 5_000, endSessionMs: 5_000, signalMs: 5_000 },
  initializeMs: 60_000,
  confirmationMs: 2_000,
  idleMs: 60 * 60 * 1_000,
  watchdogLookMs: 15_000,
  settingsLookMs: 2_000,
  diskLookMs: 2_000,
  syncMs: 1_000,
  againMs: 5_000,
  trialDelayMs: 5_000,
};

/**
 * Builds every part in the order of their dependencies, takes up the sessions of before, and only then opens the door.
 * @throws OperationalError `data_dir_in_use`, `data_dir_unwritable`, `storage_failed`, `database_newer`, `database_damaged`, `port_in_use`, `agent_user_unsupported`; Rejection for
 *   a repository that cannot be registered
 */
export async function startOrchestrator(config: OrchestratorConfig, options: ComposeOptions): Promise<Orchestrator> {
  const { log, edges = nodeEdges } = options;
  const limits = { ...TIME_LIMITS, ...options.limits };
  const { dataDir } = config;
  const life = createLifecycle(log);
  try {
    if (config.agentUser !== null) {
      throw new OperationalError(
        'agent_user_unsupported',
        'Running Claude Code as another user (--agent-user) is not possible yet.',
      );
    }
    const lock = await lockDataDir(dataDir, config.port, edges);
    life.onStop('lock', lock.release);
    let endSpawner = (): Promise<void> => Promise.resolve();
    life.onStop('spawner', () => endSpawner());
    const reserveBytes = config.diskReserveMb * 1_000_000;
    const disk = startDiskWatch({ dataDir, reserveBytes, edges, log, pollMs: limits.diskLookMs });
    life.onStop('disk watch', disk.stop);
    const store = await openSqliteStore(dataDirLayout(dataDir).database, edges, log, disk.diskPauseReason);
    life.onStop('store', store.close);
    await requireWritable(store, dataDir);

    const draftFiles = createDraftFiles({ store });
    const trash = createTrash({ store, edges, log, dataDir });
    const forget = { forgetDraftFiles: draftFiles.forgetOlder, forgetTrash: trash.forgetOlder };
    const pruning = startPruning({ store, edges, log, ...forget });
    life.onStop('pruning', pruning.stop);
    const env = userEnvironment(options.env);
    const outboxBell = createBell<StageId>();
    const repositories = createRepositories({ store, dataDir, log });
    const worktrees = createWorktrees({ dataDir, env, repositories });
    const gitSettings = createGitSettings({ store, worktrees, repositories, log });
    await gitSettings.lookAtAll(); // before anything else calls git: what stands there now is what a person set up
    const trust = createTrust({ store, worktrees, log, env });
    const claudeEnv = await environmentForSandbox(env, dataDirLayout(dataDir).programs, log);
    const deltaListeners = new Set<(delta: TextDelta) => void>();
    const claude = createClaudeWatch({
      dataDir,
      log,
      env,
      findClaude: () => findClaude(config.claudePath, env.PATH),
      trialDelayMs: limits.trialDelayMs,
    });
    life.onStop('claude', claude.stop);
    const sandbox = createSandboxWatch({ log, attempt: (signal) => checkSandbox(claudeEnv, signal) });
    life.onStop('sandbox', sandbox.stop);
    const lowPriorityWork = await startLowPriorityWork({ store, edges, log });
    life.onStop('follow-ups', lowPriorityWork.stop);
    const sessions = createSessions({
      store,
      edges,
      log,
      lowPriorityWork,
      outboxBell,
      worktrees,
      trust,
      dataDir,
      env: claudeEnv,
      graces: limits.graces,
      initializeTimeoutMs: limits.initializeMs,
      claude,
      sandbox,
      onTextDelta: (delta) => {
        for (const listener of deltaListeners) listener(delta);
      },
      onRuleUsed: (stageId, toolUseId) => settingsWatch.onRuleUsed(stageId, toolUseId),
      onHookUsed: (stageId) => settingsWatch.onHookUsed(stageId),
      onRuleDenied: (stageId, toolUseId) => denyingRuleLookup(stageId, toolUseId),
    });
    const denyingRuleLookup = createDenyingRuleLookup({
      ...{ store, log, lowPriorityWork, home: env.HOME ?? '' },
      running: sessions.executors,
    });
    life.onStop('sessions', sessions.detachAll);
    const backgroundSync = startBackgroundSync({ store, log, everyMs: limits.syncMs, running: sessions.executors });
    life.onStop('background sync', backgroundSync.stop);
    const settingsWatch = startSettingsWatch({
      ...{ store, trust, edges, log, lookMs: limits.settingsLookMs },
      running: sessions.executors,
      raiseAlarm: sessions.raiseAlarm,
    });
    life.onStop('settings watch', settingsWatch.stop);
    const { signalMs } = limits.graces;
    const reAttaching = await reAttachLaunches({
      store,
      sessions,
      log,
      signalGraceMs: signalMs,
      againMs: limits.againMs,
    });
    life.onStop('re-attaching', reAttaching.stop);

    const projects = createProjects({ store, worktrees });
    for (const path of config.repos) await projects.register({ path });
    const { tokenSha256 } = config;
    const { onCodeUsed } = options;
    const logins = await createLogins({
      store,
      edges,
      ownerName: ownerName(),
      tokenSha256,
      ...(onCodeUsed && { onCodeUsed }),
    });
    await trust.refreshAll();
    const approvals = createApprovalService({ store, edges, outboxBell, confirmationMs: limits.confirmationMs });
    const messages = createMessageQueue({
      store,
      edges,
      outboxBell,
      resumeWith: sessions.resumeWith,
      interrupt: sessions.interrupt,
      requireClaude: async () => void (await findClaude(config.claudePath, env.PATH)),
      confirmationMs: limits.confirmationMs,
      onInterruptFailed: (stageId, error) => log.warn({ err: error, stageId }, 'an interrupt did not work'),
    });
    const timeLimits = await startTimeLimits({ store, edges, log, expire: approvals.expire });
    life.onStop('time limits', timeLimits.stop);
    const writes = startWriteWatch({ store, log, retryMs: limits.diskLookMs });
    life.onStop('write watch', writes.stop);
    const notices = async (): Promise<BoardNotices> => {
      const warnings = await claude.warnings();
      const trouble = writes.trouble(); // after the wait, so that what is told last is how it is
      const ofStore =
        trouble === null
          ? null
          : `Nothing can be stored just now: ${trouble.words} Callboard goes on by itself once it can write.`;
      const ours = [ofStore, reAttaching.trouble()].filter((words) => words !== null);
      return { warnings: [...ours, ...warnings], paused: disk.diskPauseReason(), sandbox: sandbox.support() };
    };
    const board = async () => boardView({ ...(await store.board()), ...(await notices()) });
    const loopDelay = watchLoopDelay();
    life.onStop('loop delay', loopDelay.stop);
    const stages = createStages({ store });
    const handlers = commandHandlers({
      store,
      views: createBoardViews({ store, board }),
      loopDelay: loopDelay.read,
      projects,
      gitSettings,
      stages,
      complete: createStageCompletion({ store, stages, worktrees, endIfIdle: sessions.endIfIdle }),
      removal: createStageRemoval({ store, stages, worktrees, trash }),
      files: createWorktreeFiles({ store, worktrees }),
      sessions,
      controls: createSessionControls({ store, ask: sessions.ask }),
      leftovers: createLeftoverProcesses({ store, graceMs: signalMs }),
      approvals,
      lostAnswers: createLostAnswers({ store, sendText: messages.sendTextIn }),
      messages,
      drafts: createDrafts({ store }),
      draftFiles,
      capabilities: (wanted) => capabilitiesOf(store, wanted),
      imports: createStageImports({ store }),
      trash,
      trust,
      logins,
    });
    endSpawner = useSpawner(); // not before: a start has nobody to keep waiting, and need not wait for one more process
    const { host, port, secret } = config;
    const gateway = await openGateway({ store, board, log, handlers, logins, host, port, secret, version: VERSION });
    life.onStop('gateway', gateway.close);
    deltaListeners.add(gateway.onTextDelta);
    await lock.setPort(gateway.port);
    const scheduler = startScheduler({
      store,
      log,
      maxParallel: config.maxParallel,
      mayStart: () => disk.diskPauseReason() === null,
      start: (id) => sessions.start(id, null),
    });
    life.onStop('scheduler', scheduler.stop);
    life.onStop('change counts', await startChangeCounts({ store, worktrees, lowPriorityWork }));
    const idleWatch = startIdleWatch({ store, edges, log, idleMs: limits.idleMs, endIdle: sessions.endIdle });
    life.onStop('idle watch', idleWatch.stop);
    const silenceWatch = startSilenceWatch({
      store,
      log,
      silenceMs: config.attentionAfterMinutes * 60_000,
      lookMs: limits.watchdogLookMs,
      running: sessions.executors,
      onSilent: sessions.resync,
    });
    life.onStop('silenceWatch', silenceWatch.stop);
    const tellNotices = () => {
      notices().then(gateway.onNotices, (error: unknown) => log.error({ err: error }, 'the notices are not known'));
    };
    const goOn = () => {
      tellNotices();
      scheduler.nudge();
      sessions.resumeDeferredWork().catch((error: unknown) => log.error({ err: error }, 'going on failed'));
    };
    const unlisten = [
      claude.onTried((tried) => {
        tellNotices();
        if (tried === null) return;
        sessions
          .reportGaps(tried.version, tried.gaps)
          .catch((error: unknown) => log.error({ err: error }, 'what claude does not do could not be told'));
      }),
      sandbox.onChange(tellNotices),
      reAttaching.onChange(goOn),
      disk.onChange((change) => {
        if (change.type === 'low') tellNotices();
        if (change.type === 'recovered') goOn();
        if (change.type === 'not-full') void sessions.recoverLostOutput(change.since);
      }),
      writes.onChange((trouble) => {
        if (trouble?.isDiskFull) disk.foundFull();
        if (trouble !== null) return tellNotices();
        disk.diskPauseReason(); // looks: what was lost is made good at once
        goOn();
      }),
    ];
    life.onStop('going on', () => {
      for (const stop of unlisten) stop();
    });
    claude.begin();
    sandbox.begin();
    goOn(); // for what waited when we were stopped
    return {
      port: gateway.port,
      createLoginCode: logins.createCode,
      execute: (frame, watch) => executeCommand({ handlers, logins, log }, frame, watch),
      onEvent: store.onEvent,
      onTextDelta: (listener) => {
        deltaListeners.add(listener);
        return () => deltaListeners.delete(listener);
      },
      endIdle: idleWatch.endAllIdle,
      stop: life.stop,
    };
  } catch (error) {
    await life.stop();
    throw error;
  }
}
