import { realpath } from 'node:fs/promises';
import type { SessionNowUpdate, StageId, TextDelta } from '@callboard/contract';
import { userEnvironment } from '@callboard/runtime/environment';
import { createLiveNows, type LiveNows } from '../core/executor/live-now.ts';
import { type LowPriorityWork, startLowPriorityWork } from '../core/executor/low-priority-work.ts';
import { createSurvivors, recountLeftovers, type Survivors } from '../core/launch/leftover-processes.ts';
import { type ReAttaching, reAttachLaunches } from '../core/launch/re-attach-launches.ts';
import { createDenyingRuleLookup, startBackgroundSync } from '../core/launch/session-watches.ts';
import { createMisplacement, createSessions, type Sessions, type SessionsDeps } from '../core/launch/sessions.ts';
import { createIsolationTrial } from '../core/shell/command-sandbox.ts';
import {
  createPorts,
  createWorktreeCommands,
  type Ports,
  type WorktreeCommands,
} from '../core/shell/worktree-commands.ts';
import { type CleanUp, createCleanUp, createSetUp, type SetUp } from '../core/shell/worktree-setup.ts';
import { followLines } from '../core/worktrees/file-changes.ts';
import { createWorktrees, type Worktrees } from '../core/worktrees/worktrees.ts';
import type { ClaudeWatch } from '../doctor/claude-watch.ts';
import type { SandboxWatch } from '../doctor/sandbox-watch.ts';
import { createCommentFollower } from '../features/comments/comments.ts';
import { createDevServers, createEditors, type DevServers, type Editors } from '../features/dev-servers/dev-servers.ts';
import { saidAfter } from '../features/import/conversation-list.ts';
import { foreignClaude } from '../features/import/import.ts';
import { createGitSettings, createRepositories } from '../features/projects/git-settings.ts';
import { createStageSettings, type StageSettings } from '../features/projects/project-settings.ts';
import { createSnapshotBeforeMessage } from '../features/rewind/find-moment.ts';
import { type LiveRules, startLiveRules } from '../features/rules/rules.ts';
import { createTerminals, type Terminals } from '../features/terminal/terminals.ts';
import { startSettingsWatch } from '../features/trust/settings-watch.ts';
import { createTrust, type Trust } from '../features/trust/trust.ts';
import { environmentForSandbox } from '../platform/bubblewrap.ts';
import { dataDirLayout } from '../platform/data-dir.ts';
import type { Store } from '../store/store.ts';
import type { StartContext } from './context.ts';
import type { Membership } from './membership.ts';

export interface RunSessionsDeps {
  store: Store;
  worktrees: Worktrees;
  trust: Trust;
  setUp: SetUp;
  claude: ClaudeWatch;
  sandbox: SandboxWatch;
  membership: Membership;
  /** The user's environment, and the one that `claude` gets. */
  env: Record<string, string>;
  claudeEnv: Record<string, string>;
  onTextDelta: (delta: TextDelta) => void;
  onSessionNow: (update: SessionNowUpdate) => void;
  /** As `SessionsDeps.onLaunchUpdate`. */
  onLaunchUpdate: SessionsDeps['onLaunchUpdate'];
}

export interface RunningSessions {
  sessions: Sessions;
  reAttaching: ReAttaching;
  lowPriorityWork: LowPriorityWork;
  liveNows: LiveNows;
  terminals: Terminals;
  survivors: Survivors;
  liveRules: LiveRules;
}

/** How often it is told at most what Claude does in a session. */
const NOW_EVERY_MS = 1_000;

/** Builds the sessions and the watches of their processes, and re-attaches to the processes of earlier runs. */
export async function runSessions(context: StartContext, deps: RunSessionsDeps): Promise<RunningSessions> {
  const { config, log, platform, limits, life } = context;
  const { store, trust, env, claudeEnv, onSessionNow, membership, ...shared } = deps;
  const { graces } = limits;
  const lowPriorityWork = await startLowPriorityWork({ store, platform, log });
  life.onStop('low-priority work', lowPriorityWork.stop);
  const liveNows = createLiveNows(NOW_EVERY_MS, onSessionNow);
  life.onStop('live nows', liveNows.stop);
  const survivors = createSurvivors({ log, graceMs: graces.signalMs, onGone: (id) => recountLeftovers(store, id) });
  life.onStop('survivors', survivors.stop);
  const sessions = createSessions({
    ...shared,
    store,
    trust,
    platform,
    log,
    lowPriorityWork,
    graces,
    onSurvivors: survivors.add,
    dataDir: config.dataDir,
    env: claudeEnv,
    claims: membership.claims,
    mayWrite: membership.mayWrite,
    misplacement: createMisplacement({ store, worktrees: deps.worktrees }),
    snapshotBefore: createSnapshotBeforeMessage({
      store,
      worktrees: deps.worktrees,
      log,
      limitMs: limits.snapshotFilesMs,
    }),
    onLiveNow: liveNows.changed,
    initializeTimeoutMs: limits.initializeMs,
    onRuleUsed: (stageId, toolUseId) => settingsWatch.onRuleUsed(stageId, toolUseId),
    onHookUsed: (stageId) => settingsWatch.onHookUsed(stageId),
    onRuleDenied: (stageId, toolUseId) => lookUpDenyingRule(stageId, toolUseId),
  });
  const { executors: running, raiseAlarm } = sessions;
  const lookUpDenyingRule = createDenyingRuleLookup({ store, log, lowPriorityWork, home: env.HOME ?? '', running });
  life.onStop('sessions', sessions.detachAll);
  const backgroundSync = startBackgroundSync({ store, log, everyMs: limits.syncMs, running });
  life.onStop('background sync', backgroundSync.stop);
  const checkIntervalMs = limits.settingsCheckIntervalMs;
  const settingsWatch = startSettingsWatch({ store, trust, platform, log, checkIntervalMs, running, raiseAlarm });
  life.onStop('settings watch', settingsWatch.stop);
  const liveRules = startLiveRules({ store, platform, log, running });
  life.onStop('live rules', liveRules.stop);
  const { againMs } = limits;
  const reAttaching = await reAttachLaunches({
    store,
    sessions,
    log,
    signalGraceMs: graces.signalMs,
    againMs,
    onSurvivors: survivors.add,
  });
  life.onStop('re-attaching', reAttaching.stop);
  await liveRules.settle(); // before anybody can send a message: a rule may have been stored that no session was told
  const terminals = createTerminals({
    store,
    log,
    sessions,
    requireInPlace: deps.worktrees.requireInPlace,
    findProcess: async ({ conversationId, folder }) =>
      foreignClaude(claudeEnv, { conversationId, folder: await realpath(folder).catch(() => folder) }),
    saidAfter: (conversationId, after) => saidAfter(claudeEnv, conversationId, after),
  });
  return { sessions, reAttaching, lowPriorityWork, liveNows, terminals, liveRules, survivors };
}

/** Repositories with their worktrees, and what a person trusts in them. */
export async function openRepositories(
  context: StartContext,
  { all, own }: { all: Store; own: Store },
  ownEnv: Readonly<Record<string, string | undefined>>,
) {
  const { log } = context;
  const { dataDir } = context.config;
  const env = userEnvironment(ownEnv);
  const repositories = createRepositories({ store: all, dataDir, log });
  const worktrees = createWorktrees({ dataDir, env, repositories });
  const gitSettings = createGitSettings({ store: own, worktrees, repositories, log });
  await gitSettings.checkAll(); // before anything else calls git: the settings that exist now were made by a person
  const workspace = openWorkspace(context, { store: own, worktrees, env });
  const { fileOf } = workspace.stageSettings;
  const trust = createTrust({ store: own, worktrees, log, env, fileOf });
  const claudeEnv = await environmentForSandbox(env, dataDirLayout(dataDir).programs, log);
  const onDiff = createCommentFollower({ store: own, worktrees, followLines });
  return { env, claudeEnv, worktrees, gitSettings, trust, onDiff, ...workspace };
}

export type Repositories = Awaited<ReturnType<typeof openRepositories>>;

/** What projects say about their worktrees, and what they run there. */
export interface Workspace {
  stageSettings: StageSettings;
  ports: Ports;
  worktreeCommands: WorktreeCommands;
  setUp: SetUp;
  cleanUp: CleanUp;
  devServers: DevServers;
  editors: Editors;
}

/** Builds it, after which the commands of an orchestrator that was killed are ended. */
function openWorkspace(
  { config, log, platform, limits, life }: StartContext,
  { store, worktrees, env }: { store: Store; worktrees: Worktrees; env: Record<string, string> },
): Workspace {
  const { dataDir } = config;
  const { requireInPlace } = worktrees;
  const stageSettings = createStageSettings({ store, worktrees });
  const ports = createPorts({ store, dataDir });
  const worktreeCommands = createWorktreeCommands({
    store,
    platform,
    log,
    dataDir,
    env,
    ports,
    requireInPlace,
    graceMs: limits.graces.signalMs,
    isolation: createIsolationTrial(env),
    cachesOf: async (stageId) => {
      const { settings, fromFile, isAgreed } = await stageSettings.ofStage(stageId);
      return isAgreed || !fromFile.includes('caches') ? settings.caches : [];
    },
  });
  const settingsOf = stageSettings.requireUsable;
  const setUp = createSetUp({
    store,
    log,
    commands: worktreeCommands,
    settingsOf,
    settingsOfNew: stageSettings.ofNewStage,
  });
  const cleanUp = createCleanUp({ store, log, commands: worktreeCommands, ports, settingsOf });
  const namesOf = async (stageId: StageId) => (await stageSettings.ofStage(stageId)).settings;
  const devServers = createDevServers({ store, commands: worktreeCommands, settingsOf, namesOf });
  life.onStop('clean-up', cleanUp.settled);
  life.onStop('worktree commands', worktreeCommands.shutDown);
  return {
    stageSettings,
    ports,
    worktreeCommands,
    setUp,
    cleanUp,
    devServers,
    editors: createEditors({ store, requireInPlace, env }),
  };
}
