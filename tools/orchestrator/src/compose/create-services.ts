import type { StageId } from '@callboard/contract';
import { findClaude } from '../core/claude/claude-program.ts';
import { mcpText, positionBefore } from '../core/claude/conversation-file.ts';
import { createLogins } from '../core/commands/logins.ts';
import { createLeftoverProcesses } from '../core/launch/leftover-processes.ts';
import { createEndIfReplaced, type Sessions } from '../core/launch/sessions.ts';
import { createPresence, notificationOf, settledNotificationOf } from '../core/session/notification-channel.ts';
import { createStages, type Stages } from '../core/session/stages.ts';
import { commandsFolder, endCommand, runWithInput } from '../core/shell/run-command.ts';
import type { WorktreeCommands } from '../core/shell/worktree-commands.ts';
import type { CleanUp } from '../core/shell/worktree-setup.ts';
import type { Worktrees } from '../core/worktrees/worktrees.ts';
import type { ClaudeWatch } from '../doctor/claude-watch.ts';
import {
  type ApprovalService,
  createApprovalService,
  startDelayedAnswers,
  startTimeLimits,
} from '../features/approvals/approvals.ts';
import { createLostAnswers } from '../features/approvals/lost-answers.ts';
import { startPeople } from '../features/approvals/people.ts';
import { createWorktreeFiles } from '../features/changes/changes.ts';
import { type Checks, startChecks } from '../features/checks/checks.ts';
import { createComments, createViewed, pathFindingsOf } from '../features/comments/comments.ts';
import { createConversations } from '../features/import/import.ts';
import { createLimits } from '../features/limits/limits.ts';
import { createStageCompletion, type StageCompletion } from '../features/merge/complete-stage.ts';
import { createMergeIntents, createStageEndings } from '../features/merge/stage-endings.ts';
import { createDrafts } from '../features/messages/drafts.ts';
import { createMessageQueue, type MessageQueue } from '../features/messages/messages.ts';
import { startAnnouncer, startDeliverer } from '../features/notifications/notifications.ts';
import { startDelays } from '../features/pauses/pauses.ts';
import type { StageSettings } from '../features/projects/project-settings.ts';
import { capabilitiesOf, createProjects } from '../features/projects/projects.ts';
import { createParentLookup } from '../features/pull-requests/find-code-host.ts';
import {
  createHostIssues,
  finishStages,
  type HostIssues,
  type PullRequests,
  startPullRequests,
} from '../features/pull-requests/pull-requests.ts';
import {
  createPushChannel,
  createPushDevices,
  createPushSender,
  forgetLoggedOut,
  loadPushKeys,
} from '../features/push/push.ts';
import { createReceipts, type Receipts } from '../features/receipts/receipts.ts';
import { askClaude } from '../features/review/ask-claude.ts';
import { type SideRuns, startSideRuns } from '../features/review/review.ts';
import { createForkStage, createRewinds, type ForkStage, type Rewinds } from '../features/rewind/rewind.ts';
import { createDenialRetries, type DenialRetries } from '../features/rules/denial-retries.ts';
import { createRules, type Rules } from '../features/rules/rules.ts';
import { createSessionControls } from '../features/sessions/session-controls.ts';
import { createStageImports } from '../features/stages/import-stages.ts';
import { createStageRemoval, createWorktreeRepair } from '../features/stages/stage-commands.ts';
import { createStageExports } from '../features/stages/stage-file.ts';
import { startWriteWatch } from '../features/storage/storage.ts';
import type { Trash } from '../features/trash/trash.ts';
import type { Trust } from '../features/trust/trust.ts';
import { createCaller, createOutgoingCommands, endOutgoingLeft } from '../features/webhooks/webhook-request.ts';
import { createWebhookChannel, createWebhooks } from '../features/webhooks/webhooks.ts';
import { createCallers } from '../gateway/callers.ts';
import { ownerName } from '../platform/git/owner-name.ts';
import { hasProcessWith } from '../platform/process-table.ts';
import { retryUntilStored, type Store } from '../store/store.ts';
import { homeOf, type StartContext } from './context.ts';
import type { Membership, Stores } from './membership.ts';
import { composeBudgets } from './react-to-changes.ts';
import type { Repositories, RunningSessions } from './run-sessions.ts';

type ServiceDeps = Stores & Repositories & RunningSessions & { trash: Trash; claude: ClaudeWatch };

/** The services that people's commands use. */
export async function createServices(
  context: StartContext,
  deps: ServiceDeps,
  { onCodeUsed }: { onCodeUsed?: (codeSha256: string) => void },
) {
  const { config, log, platform, limits, life } = context;
  const { all: store, own, membership, worktrees, trust, sessions, env, trash, onDiff } = deps;
  const { confirmationMs, graces } = limits;
  const requireMachine = membership.requirePin;
  const projects = await registerProjects(context, deps);
  const { tokenSha256, publicUrl } = config;
  const logins = await createLogins({
    store,
    platform,
    ownerName: await ownerName(env),
    tokenSha256,
    publicUrl,
    ...(onCodeUsed && { onCodeUsed }),
  });
  await trust.refreshAll();
  const approvals = createApprovalService({ store, confirmationMs });
  const messages = createMessageQueue({
    store,
    platform,
    confirmationMs,
    resumeWith: sessions.resumeWith,
    withdrawIfGone: deps.terminals.withdrawIfGone,
    endIfReplaced: createEndIfReplaced({ store, worktrees, sessions }),
    interrupt: sessions.interrupt,
    requireClaude: async () => void (await findClaude(config.claudePath, env.PATH)),
    onInterruptFailed: (stageId, error) => log.warn({ err: error, stageId }, 'an interrupt failed'),
  });
  const { delayedAnswers, people } = await watchRequests(context, deps, approvals);
  const writes = startWriteWatch({ store, log, retryMs: limits.diskCheckIntervalMs });
  life.onStop('write watch', writes.stop);
  const { interrupt, resumeReleased } = sessions;
  const holds = startDelays({ store: own, log, interrupt, resumeReleased });
  life.onStop('holds', holds.stop);
  const receipts = createReceipts({ store });
  const completion = await completeStages(context, { ...deps, store: own, receipts });
  const { ofProject: settingsOf, pipelinesFor } = deps.stageSettings;
  const stages = createStages({
    store,
    worktrees,
    settingsOf,
    pipelinesFor,
    here: membership.here,
    requireMachine,
  });
  const leftovers = createLeftoverProcesses({
    store: own,
    graceMs: graces.signalMs,
    onSurvivors: deps.survivors.add,
  });
  const checks = await runChecks(context, { ...deps, store: own });
  const sideRuns = await runSideRuns(context, { ...deps, store: own });
  const rewinding = await composeRewind(context, { ...deps, store: own, stages });
  const pullRequests = await composePullRequests(context, { ...deps, store: own, messages, completion, receipts });
  return {
    projects,
    logins,
    approvals,
    delayedAnswers,
    holds,
    people,
    messages,
    writes,
    stages,
    ...(await notifyPeople(context, { store, own, env, leads: membership.leads })),
    completion,
    pullRequests,
    receipts,
    checks,
    sideRuns,
    ...rewinding,
    ...(await composeRules(context, { ...deps, store, own, messages })),
    ...composeBudgets(context, { store, own, sessions, messages, sideRuns }),
    removal: createStageRemoval({
      store,
      stages,
      worktrees,
      trash,
      leftovers,
      cleanUp: deps.cleanUp.beforeRemoval,
    }),
    repair: createWorktreeRepair({ ...deps, store: own, platform }),
    files: createWorktreeFiles({ store, worktrees, onDiff }),
    comments: createComments({ store, platform, worktrees, messages }),
    viewed: createViewed({ store }),
    usageLimits: createLimits({ store, resumeWith: sessions.resumeWith, repeatIn: sessions.repeatIn }),
    callers: watchCallers(context, deps),
    controls: createSessionControls({
      store,
      ask: sessions.ask,
      mcpText: (server) => mcpText(deps.claudeEnv, server),
    }),
    leftovers,
    lostAnswers: createLostAnswers({ store, sendText: messages.sendTextIn }),
    conversations: createConversations({
      store,
      worktrees,
      stages,
      env: deps.claudeEnv,
      dataDir: config.dataDir,
    }),
    issues: composeIssues(context, { store, worktrees, env, stages }),
    drafts: createDrafts({ store }),
    capabilities: (wanted: Parameters<typeof capabilitiesOf>[1]) => capabilitiesOf(store, wanted),
    exports: createStageExports({ store, home: homeOf(env), pipelinesFor }),
    imports: createStageImports({ store, worktrees, home: homeOf(env), pipelinesFor, requireMachine }),
  };
}

/** What sessions run, so that none of it acts as a person. */
function watchCallers({ config, log, life }: StartContext, { own, sessions }: Pick<ServiceDeps, 'own' | 'sessions'>) {
  const callers = createCallers({
    store: own,
    log,
    dataDir: config.dataDir,
    running: sessions.executors,
    raiseAlarm: sessions.raiseAlarm,
  });
  // Other machines write to a shared store.
  if (config.databaseUrl === null)
    life.onStop(
      'store watch',
      own.onForeignCommit(() => void callers.reportStoreWritten()),
    );
  return callers;
}

/** The projects, those of the configuration among them. */
async function registerProjects(
  { config }: StartContext,
  { all: store, membership, worktrees, env }: Pick<ServiceDeps, keyof Stores | 'worktrees' | 'env'>,
) {
  const { places } = membership;
  const requireMachine = membership.requirePin;
  const projects = createProjects({
    store,
    worktrees,
    places,
    home: homeOf(env),
    dataDir: config.dataDir,
    startedIn: config.startedIn,
    requireMachine,
  });
  for (const path of config.repos) await projects.register({ path });
  await places.nameRemotes(projects.remoteOf);
  return projects;
}

/** What happens to requests as time passes. */
async function watchRequests(
  { log, platform, limits, life }: StartContext,
  { all: store, own }: Pick<ServiceDeps, 'all' | 'own'>,
  approvals: ApprovalService,
) {
  const timeLimits = await startTimeLimits({ store: own, platform, log, expire: approvals.expire });
  life.onStop('time limits', timeLimits.stop);
  const delayedAnswers = await startDelayedAnswers({
    store: own,
    platform,
    log,
    delayMs: limits.answerDelayMs,
  });
  life.onStop('held answers', delayedAnswers.stop);
  const people = await startPeople({ store, platform, log });
  life.onStop('people', people.stop);
  return { delayedAnswers, people };
}

/** Builds what completes stages, after storing what became of merges that a crash interrupted. */
async function completeStages(
  { log, platform, life }: StartContext,
  parts: { store: Store; worktrees: Worktrees; sessions: Sessions; cleanUp: CleanUp; receipts: Receipts },
): Promise<StageCompletion> {
  const { store, worktrees, sessions, cleanUp, receipts } = parts;
  const endings = createStageEndings({ store, onDone: cleanUp.afterDone });
  const intents = createMergeIntents({ store, worktrees, endings, platform, log, hasProcessWith });
  const { endIfIdle } = sessions;
  const receiptOf = async (stageId: StageId) => (await receipts.of(stageId)).markdown;
  const completion = createStageCompletion({ store, log, worktrees, intents, endings, endIfIdle, receiptOf });
  life.onStop('completion', completion.stop);
  await completion.settleInterrupted();
  return completion;
}

/** Builds what takes stages back to earlier messages, after completing what a crash interrupted. */
async function composeRewind(
  { log, platform, life }: StartContext,
  parts: { store: Store; worktrees: Worktrees; sessions: Sessions; stages: Stages; claudeEnv: Record<string, string> },
): Promise<{ rewinds: Rewinds; forkStage: ForkStage }> {
  const { store, worktrees, sessions, stages, claudeEnv } = parts;
  const moments = {
    store,
    worktrees,
    positionBefore: (conversationId: string, messageId: string) => positionBefore(claudeEnv, conversationId, messageId),
  };
  const stopping = new AbortController();
  const storing = { store, log, signal: stopping.signal };
  const rewinds = createRewinds({
    ...moments,
    platform,
    log,
    endIfIdle: sessions.endIfIdle,
    record: (work) => retryUntilStored(storing, work, { sync: 'now' }),
  });
  life.onStop('going back', () => stopping.abort());
  await rewinds.settleInterrupted();
  return { rewinds, forkStage: createForkStage({ ...moments, stages }) };
}

/** Builds what people do with permission rules, and goes on with what an earlier run has not told Claude. */
async function composeRules(
  { platform, log }: StartContext,
  {
    store,
    own,
    messages,
    liveRules,
  }: Pick<RunningSessions, 'liveRules'> & {
    store: Store;
    own: Store;
    messages: MessageQueue;
  },
): Promise<{ rules: Rules; denialRetries: DenialRetries }> {
  const { settle } = liveRules;
  const { requireResumable, sendTextIn: sendText } = messages;
  const denialRetries = createDenialRetries({ store: own, platform, log, settle, requireResumable, sendText });
  await denialRetries
    .resume()
    .catch((error: unknown) => log.error({ err: error }, 'telling Claude of an allowed call failed'));
  return { rules: createRules({ store, platform, settle }), denialRetries };
}

interface PullRequestDeps {
  store: Store;
  worktrees: Worktrees;
  /** The user's environment, in which `gh` and `glab` have their login. */
  env: Record<string, string>;
  messages: MessageQueue;
  completion: StageCompletion;
  receipts: Receipts;
  stageSettings: Pick<StageSettings, 'ofStage'>;
}

/** Builds what makes stages of issues. */
function composeIssues(
  { life }: StartContext,
  { stages, ...parts }: Pick<PullRequestDeps, 'store' | 'worktrees' | 'env'> & { stages: Stages },
): HostIssues {
  const stopping = new AbortController();
  life.onStop('issues', () => stopping.abort());
  return createHostIssues({ ...parts, create: stages.create, signal: stopping.signal });
}

/** Builds what opens pull requests, looks after them, and finishes stages by themselves. */
async function composePullRequests(context: StartContext, deps: PullRequestDeps): Promise<PullRequests> {
  const { log, platform, life, limits } = context;
  const { store, worktrees, env, messages, completion, receipts, stageSettings } = deps;
  const pullRequests = await startPullRequests({
    store,
    worktrees,
    env,
    log,
    platform,
    hasProcessWith,
    usualMs: limits.pullRequestMs,
    findParent: createParentLookup(env),
    receiptOf: async (stageId) => (await receipts.of(stageId)).markdown,
    baseOf: async (stageId) => (await stageSettings.ofStage(stageId)).settings.base,
    send: (stageId, message, actor) => messages.send(stageId, { message, mode: 'append' }, actor),
    complete: completion.mergedElsewhere,
  });
  life.onStop('pull requests', pullRequests.stop);
  const stopFinishing = await finishStages({
    store,
    log,
    pullRequests,
    retryMs: limits.diskCheckIntervalMs,
    async projectWay(stageId) {
      const { settings, fromFile, isAgreed } = await stageSettings.ofStage(stageId);
      return isAgreed || !fromFile.includes('finish') ? settings.finish : 'none'; // the file alone decides nothing
    },
    async merge(stageId, message, actor) {
      const { plan } = await completion.preview(stageId);
      const seen = plan === null ? {} : { head: plan.head, tree: plan.tree };
      const commit = plan !== null && plan.uncommittedCount > 0 ? { commit: { message } } : {};
      await completion.complete({ stageId, merge: true, receipt: true, ...seen, ...commit }, actor);
    },
  });
  life.onStop('finishing stages', stopFinishing);
  return pullRequests;
}

interface RunChecksDeps {
  store: Store;
  sessions: Pick<Sessions, 'resumeWith'>;
  worktreeCommands: WorktreeCommands;
}

/** Runs the checks of phases, those first that were interrupted. */
async function runChecks(
  { config, log, life }: StartContext,
  { store, sessions, worktreeCommands }: RunChecksDeps,
): Promise<Checks> {
  const stopping = new AbortController();
  const storing = { store, log, signal: stopping.signal };
  const checks = await startChecks({
    store,
    log,
    commands: worktreeCommands,
    maxParallel: config.maxParallel,
    resumeWith: sessions.resumeWith,
    untilStored: (work) => retryUntilStored(storing, work, { sync: 'now' }),
  });
  life.onStop('checks', async () => {
    stopping.abort();
    await checks.stop();
  });
  return checks;
}

interface RunSideRunsDeps {
  store: Store;
  sessions: Pick<Sessions, 'resumeWith'>;
  worktrees: Worktrees;
  trust: Trust;
  claude: ClaudeWatch;
  claudeEnv: Record<string, string>;
}

/** Each uses about as much memory as a session. */
const AT_ONCE = 2;

/** Asks Claude beside the conversations, after what an earlier Callboard asked was settled. */
async function runSideRuns(
  { config, log, platform, limits, life }: StartContext,
  { store, sessions, worktrees, trust, claude, claudeEnv }: RunSideRunsDeps,
): Promise<SideRuns> {
  const stopping = new AbortController();
  const storing = { store, log, signal: stopping.signal };
  const { dataDir } = config;
  const graceMs = limits.graces.signalMs;
  const startProgram: Parameters<typeof askClaude>[0]['startProgram'] = (job) =>
    runWithInput({ dataDir, graceMs }, job);
  const asking = { store, worktrees, claude, trust, dataDir, env: claudeEnv, startProgram, pathFindingsOf };
  const sideRuns = await startSideRuns({
    store,
    log,
    resumeWith: sessions.resumeWith,
    maxParallel: AT_ONCE,
    now: platform.now,
    limitCheckIntervalMs: limits.limitCheckIntervalMs,
    ask: (run, steps) => askClaude(asking, run, steps),
    endLeft: (id, process) => endCommand({ id, process, isSandboxed: false }, graceMs),
    untilStored: (work) => retryUntilStored(storing, work, { sync: 'now' }),
  });
  life.onStop('side runs', async () => {
    stopping.abort();
    await sideRuns.shutDown();
  });
  return sideRuns;
}

interface NotifyPeopleDeps {
  store: Store;
  /** As `Stores.own`. */
  own: Pick<Store, 'onEvent'>;
  /** The user's environment. */
  env: Readonly<Record<string, string>>;
  leads: Membership['leads'];
}

/** What tells people of requests, failures and finished stages outside of the page. */
async function notifyPeople(context: StartContext, { store, own, env, leads }: NotifyPeopleDeps) {
  const { config, log, platform, limits, life } = context;
  const presence = createPresence(platform);
  const keys = await loadPushKeys(store);
  await forgetLoggedOut(store);
  const sender = createPushSender({ keys });
  const caller = createCaller({ runCommand: await outgoingCommands(context, env) });
  const { publicUrl } = config;
  const text = { announced: notificationOf, settled: settledNotificationOf };
  const channels = [
    createPushChannel({ store, platform, presence, sender }),
    createWebhookChannel({ store, platform, caller, text, publicUrl }),
  ];
  const pushDevices = createPushDevices({ store, platform, sender, publicKey: keys.publicKey });
  life.onStop('push devices', pushDevices.stop);
  const deliverer = startDeliverer({ store, platform, log, channels, leads });
  life.onStop('deliverer', deliverer.stop);
  const webhooks = createWebhooks({ store, platform, caller, publicUrl, onQueued: deliverer.schedule });
  life.onStop('webhooks', webhooks.stop);
  const announcer = startAnnouncer({
    store: {
      read: store.read,
      board: store.board,
      boardOf: store.boardOf,
      transact: store.transact,
      onEvent: own.onEvent,
    },
    onOthers: leads && store.onEvent,
    log,
    channels,
    onQueued: deliverer.schedule,
    lagMs: limits.announceLagMs,
  });
  life.onStop('announcer', announcer.stop);
  return { presence, pushDevices, webhooks };
}

/** Runs the commands that calls to the outside may be, once those of an earlier run have ended. */
async function outgoingCommands({ config, limits, log }: StartContext, env: Readonly<Record<string, string>>) {
  const { dataDir } = config;
  const graceMs = limits.graces.signalMs;
  const endLeft = (id: string) => endCommand({ id, process: null, isSandboxed: false }, graceMs);
  await endOutgoingLeft({ commands: commandsFolder(dataDir), endLeft }).catch((error: unknown) =>
    log.error({ err: error }, 'commands of an earlier run may still run'),
  );
  return createOutgoingCommands({
    env,
    home: env.HOME ?? dataDir,
    endLeft,
    start: (job) => runWithInput({ dataDir, graceMs }, job),
  });
}
