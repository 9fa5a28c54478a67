import { realpath } from 'node:fs/promises';
import type { SessionNowUpdate, StageId, TextDelta } from '@callboard/contract';
import { saidAfter } from '../claude/conversations/conversation-history.ts';
import { foreignClaude } from '../claude/conversations/open-conversations.ts';
import type { ClaudeWatch } from '../doctor/claude-watch.ts';
import type { SandboxWatch } from '../doctor/sandbox-watch.ts';
import type { Signal } from '../lib/bell.ts';
import { createSnapshotBeforeMessage } from '../rewinds/keep-before-message.ts';
import { type LiveRules, startLiveRules } from '../rules/live-rules.ts';
import { createMisplacement } from '../sessions/end-if-idle.ts';
import { recountLeftovers } from '../sessions/launch/leftover-processes.ts';
import { type ReAttaching, reAttachLaunches } from '../sessions/launch/re-attach-launches.ts';
import { createSurvivors, type Survivors } from '../sessions/launch/survivors.ts';
import { createLiveNows, type LiveNows } from '../sessions/live-nows.ts';
import { createSessions, type Sessions, type SessionsDeps } from '../sessions/sessions.ts';
import { createTerminals, type Terminals } from '../sessions/terminals.ts';
import { startBackgroundSync } from '../sessions/watch/background-sync.ts';
import { createDenyingRuleLookup } from '../sessions/watch/denying-rule-lookup.ts';
import { type LowPriorityWork, startLowPriorityWork } from '../sessions/watch/low-priority-work.ts';
import { startSettingsWatch } from '../sessions/watch/settings-watch.ts';
import type { Store } from '../store/store.ts';
import type { Trust } from '../trust/trust.ts';
import type { SetUp } from '../worktree-commands/set-up.ts';
import type { Worktrees } from '../worktrees/worktrees.ts';
import type { Membership } from './join-machines.ts';
import type { StartContext } from './start-context.ts';

export interface RunSessionsDeps {
  store: Store;
  outboxSignal: Signal<StageId>;
  worktrees: Worktrees;
  trust: Trust;
  setUp: SetUp;
  claude: ClaudeWatch;
  sandbox: SandboxWatch;
  membership: Membership | null;
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
    claims: membership?.claims,
    mayWrite: membership?.lease.isHeld,
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
