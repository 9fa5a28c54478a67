import type { StageId } from '@callboard/contract';
import { type ApprovalService, createApprovalService } from '../approvals/approval-service.ts';
import { startDelayedAnswers } from '../approvals/held-answers.ts';
import { startPeople } from '../approvals/people.ts';
import { createLostAnswers } from '../approvals/settle-answers.ts';
import { startTimeLimits } from '../approvals/time-limits.ts';
import { createLogins } from '../auth/logins.ts';
import { ownerName } from '../auth/owner-name.ts';
import { mcpText } from '../claude/mcp-words.ts';
import { findClaude } from '../claude/program/find-claude.ts';
import { createComments } from '../comments/comments.ts';
import { createViewed } from '../comments/viewed.ts';
import { createConversations } from '../conversations/conversations.ts';
import { startWriteWatch } from '../disk/write-watch.ts';
import type { ClaudeWatch } from '../doctor/claude-watch.ts';
import { startDelays } from '../holds/holds.ts';
import type { Signal } from '../lib/bell.ts';
import { createLimits } from '../limits/limits.ts';
import { createDrafts } from '../messages/drafts.ts';
import { createMessageQueue } from '../messages/message-queue.ts';
import { createReceipts } from '../receipts/receipts.ts';
import { createCallers } from '../sessions/callers.ts';
import { createEndIfReplaced } from '../sessions/end-if-idle.ts';
import { createLeftoverProcesses } from '../sessions/launch/leftover-processes.ts';
import { createSessionControls } from '../sessions/session-controls.ts';
import { capabilitiesOf } from '../stages/capabilities.ts';
import { createStageExports } from '../stages/export-stages.ts';
import { createStageImports } from '../stages/import-stages.ts';
import { createWorktreeRepair } from '../stages/mend-worktree.ts';
import { createProjects } from '../stages/projects.ts';
import { createStageRemoval } from '../stages/remove-stage.ts';
import { createStages } from '../stages/stages.ts';
import { createWorktreeFiles } from '../stages/worktree-files.ts';
import type { Trash } from '../trash/trash.ts';
import { nameRemotes } from './adopt-store.ts';
import { composeBudgets } from './budgets.ts';
import { completeStages } from './complete-stages.ts';
import { composeRewind } from './going-back.ts';
import type { Stores } from './join-machines.ts';
import { composeRules } from './keep-rules.ts';
import type { Repositories } from './open-repositories.ts';
import { composeIssues, composePullRequests } from './pull-requests.ts';
import { runChecks } from './run-checks.ts';
import type { RunningSessions } from './run-sessions.ts';
import { runSideRuns } from './run-side-runs.ts';
import { homeOf, type StartContext } from './start-context.ts';
import { notifyPeople } from './tell-people.ts';

type ServiceDeps = Stores &
  Repositories &
  RunningSessions & { outboxSignal: Signal<StageId>; trash: Trash; claude: ClaudeWatch };

/** The services that people's commands use. */
export async function createServices(
  context: StartContext,
  deps: ServiceDeps,
  { onCodeUsed }: { onCodeUsed?: (codeSha256: string) => void },
) {
  const { config, log, platform, limits, life } = context;
  const { all: store, own, membership, worktrees, trust, sessions, outboxSignal, env, trash, onDiff } = deps;
  const { confirmationMs, graces } = limits;
  const requireMachine = membership?.machines.requirePin;
  const projects = await registerProjects(context, deps);
  const { tokenSha256, publicUrl } = config;
  const logins = await createLogins({
    store,
    platform,
    ownerName: ownerName(),
    tokenSha256,
    publicUrl,
    ...(onCodeUsed && { onCodeUsed }),
  });
  await trust.refreshAll();
  const approvals = createApprovalService({ store, outboxSignal, confirmationMs });
  const messages = createMessageQueue({
    store,
    platform,
    outboxSignal,
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
    here: membership?.claims.here,
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
    ...(await notifyPeople(context, { store, env, machines: membership?.machines ?? null })),
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
    usageLimits: createLimits({ store, outboxSignal, resumeWith: sessions.resumeWith, repeatIn: sessions.repeatIn }),
    callers: watchCallers(context, deps),
    controls: createSessionControls({
      store,
      outboxSignal,
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
  { all: store, own, membership, worktrees, env }: Pick<ServiceDeps, keyof Stores | 'worktrees' | 'env'>,
) {
  const places = membership?.places;
  const requireMachine = membership?.machines.requirePin;
  const projects = createProjects({
    store,
    worktrees,
    places,
    home: homeOf(env),
    dataDir: config.dataDir,
    requireMachine,
  });
  for (const path of config.repos) await projects.register({ path });
  if (places !== undefined) await nameRemotes({ store: own, places, remoteOf: projects.remoteOf });
  return projects;
}

/** What happens to requests as time passes. */
async function watchRequests(
  { log, platform, limits, life }: StartContext,
  { all: store, own, outboxSignal }: Pick<ServiceDeps, 'all' | 'own' | 'outboxSignal'>,
  approvals: ApprovalService,
) {
  const timeLimits = await startTimeLimits({ store: own, platform, log, expire: approvals.expire });
  life.onStop('time limits', timeLimits.stop);
  const delayedAnswers = await startDelayedAnswers({
    store: own,
    platform,
    log,
    outboxSignal,
    delayMs: limits.answerDelayMs,
  });
  life.onStop('held answers', delayedAnswers.stop);
  const people = await startPeople({ store, platform, log });
  life.onStop('people', people.stop);
  return { delayedAnswers, people };
}
