import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import type { LaunchId, PermissionRule, Project, SandboxSupport, StageId, TurnOutcome } from '@callboard/contract';
import { messageOf } from '@callboard/runtime/errors';
import { AppError, OperationalError, ProtocolError, Rejection } from '../../lib/errors.ts';
import { createProcessMarks } from '../../platform/child-processes.ts';
import { endMarked, LAUNCH_MARKER } from '../../platform/process-table.ts';
import type { Platform } from '../../platform/runtime.ts';
import type { LaunchRecord, LaunchSettings, MessageRow } from '../../store/records.ts';
import { isStorageFailure } from '../../store/storage-error.ts';
import { type RetryDeps, retryUntilStored, type Tx } from '../../store/store.ts';
import { type AgentProcess, createLaunchFolder, spawnClaude, temporaryVariables } from '../claude/claude-process.ts';
import { conversationCondition } from '../claude/conversation-file.ts';
import { claudeArguments, claudeVariables, type LaunchSandbox } from '../claude/launch-options.ts';
import type { ExecutorDeps } from '../executor/session-executor.ts';
import { changeSession, openChange, reportDamage } from '../session/change-session.ts';
import { endLaunch, type LaunchEnd } from '../session/end-launch.ts';
import { addNotice, setCliGaps } from '../session/session-change.ts';
import { takeIsolation } from '../session/session-permissions.ts';
import { budgetBefore, budgetRefusal, isStagePaused, pauseTurn, releaseStage } from '../session/spending-limits.ts';
import type { SetUp } from '../shell/worktree-setup.ts';
import type { Worktrees } from '../worktrees/worktrees.ts';
import { type BeginDeps, type BegunLaunch, beginLaunch, type Claims, type LaunchRequest } from './begin-launch.ts';
import {
  chooseSandbox,
  type LaunchLocation,
  type LaunchTrust,
  type LaunchTrustSource,
  leftOutNotice,
  newRulesNotice,
  prepareWorktree,
  refusalOfSandbox,
} from './prepare-launch.ts';
import type { RunningLaunch, StopGraces } from './running-launch.ts';

/** The end reason of a launch that was begun and never spawned. Stored: `re-attach-launches.ts` counts launches by it. */
export const BEGUN_AGAIN =
  'Callboard was ended while it was starting Claude Code. Nothing had run, so it is started again.';

export interface LauncherDeps extends SpawnDeps {
  platform: Platform;
  claims?: Claims | undefined;
}

/** How a person wants a stage to start. */
export interface StartOptions {
  /** A new worktree begins at what the repository has. */
  withoutFetch?: boolean;
  /** No spent budget keeps it from its next turn. */
  beyondBudget?: boolean;
}

/** Begins launches and spawns their processes. */
export interface Launcher {
  /** As `Sessions.start`. */
  start(stageId: StageId, actor: string | null, options?: StartOptions): Promise<void>;
  /** Begins a launch in the caller's transaction and spawns it after the commit. False: the disk is nearly full, the stage is on hold or a budget is spent, so the message waits. */
  launchIn(tx: Tx, stageId: StageId, message: MessageRow): Promise<boolean>;
  /** As `launchIn`, to repeat the messages that the conversation lacks. @throws as `beginLaunch` */
  repeatIn(tx: Tx, stageId: StageId): Promise<void>;
  /**
   * Ends a launch that was never spawned and begins another one for the same work, in one transaction.
   * @throws Rejection `disk_low`, and then the launch has not ended
   */
  beginAgain(launch: LaunchRecord): Promise<void>;
  /** Resolves when a begun launch of the stage is attached or has failed; at once if there is none. Never rejects. */
  attached(stageId: StageId): Promise<void>;
  /** Resolves when no launch is being spawned. */
  settled(): Promise<void>;
}

export function createLauncher(deps: LauncherDeps): Launcher {
  const { storing } = deps;
  const begin: BeginDeps = deps;
  const { store, log } = storing;
  const spawns = createSpawns(deps);

  async function launchIn(tx: Tx, stageId: StageId, message: MessageRow): Promise<boolean> {
    if (tx.diskPauseReason() !== null || (await isStagePaused(tx, stageId))) {
      await changeSession(tx, stageId, async (change) => {
        await tx.outbox.setBody(message.id, { ...message.body, awaitsRoom: true });
        change.queueChanged = true;
      });
      return false;
    }
    const { record } = await openChange(tx, stageId);
    const budget = await budgetBefore(tx, record);
    if (budget !== null) {
      await changeSession(tx, stageId, (change) => pauseTurn(tx, change, message, budget));
      return false;
    }
    await resumeIn(tx, { stageId, actor: message.actor, message });
    return true;
  }

  async function resumeIn(tx: Tx, request: LaunchRequest): Promise<void> {
    const { stageId } = request;
    const begun = await beginLaunch(tx, begin, request);
    tx.afterCommit(() => {
      spawns.begin(begun).catch((error: unknown) => log.warn({ err: error, stageId }, 'resuming a session failed'));
    });
  }

  return {
    async start(stageId, actor, { withoutFetch = false, beyondBudget = false } = {}) {
      const launched = Promise.withResolvers<void>();
      await store.transact(async (tx) => {
        if (actor !== null) await releaseStage(tx, stageId);
        else if (await isStagePaused(tx, stageId)) return launched.resolve(); // since the scheduler looked
        if (!beyondBudget) await requireBudget(tx, stageId);
        const begun = await beginLaunch(tx, begin, { stageId, actor, beyondBudget });
        tx.afterCommit(
          () => void spawns.begin({ ...begun, withoutFetch }, launched.resolve).then(launched.resolve, launched.reject),
        );
      });
      await launched.promise.catch((error: unknown) => {
        throw launchRejection(error);
      });
    },
    beginAgain: async ({ id, stageId, folder }) => {
      await rm(folder, { recursive: true, force: true });
      await store.transact(async (tx) => {
        const rows = await tx.outbox.listOf(id, ['accepted', 'written']);
        const given = rows.find(({ kind }) => kind === 'message');
        await endLaunch(tx, { id, stageId }, { kind: 'not-started', reason: BEGUN_AGAIN, isBegunAgain: true });
        const message = (await tx.outbox.queueOf(stageId)).find((row) => row.id === given?.id);
        const begun = await beginLaunch(tx, begin, { stageId, actor: message?.actor ?? null, message });
        tx.afterCommit(() => {
          spawns
            .begin(begun)
            .catch((error: unknown) => log.warn({ err: error, stageId }, 'starting a launch again failed'));
        });
      });
    },
    launchIn,
    repeatIn: (tx, stageId) => resumeIn(tx, { stageId, actor: null }),
    attached: spawns.attached,
    settled: spawns.settled,
  };
}

/** @throws Rejection `budget_spent` */
async function requireBudget(tx: Tx, stageId: StageId): Promise<void> {
  const beyondBudget = (await tx.sessions.find(stageId))?.beyondBudget ?? false;
  const budget = await budgetBefore(tx, { stageId, beyondBudget });
  if (budget !== null) throw new Rejection('budget_spent', budgetRefusal(stageId, budget));
}

/** The launches that are being spawned. */
function createSpawns(deps: LauncherDeps) {
  const { storing } = deps;
  const running = new Set<Promise<unknown>>();
  const notAttached = new Map<StageId, Promise<void>>();

  /** Keeps the work until it settles, so that `settled` waits for it. */
  function track<T>(work: Promise<T>): Promise<T> {
    running.add(work);
    const done = () => running.delete(work);
    work.then(done, done);
    return work;
  }

  /** Settles a failed spawn like a process that died. The caller hears of the failure even while it cannot be stored. */
  async function settleFailed({ stageId, launchId: id }: BegunLaunch, error: unknown): Promise<void> {
    const end: LaunchEnd = { kind: 'not-started', reason: messageOf(error), code: outcomeCode(error) };
    const settle = async (tx: Tx) => {
      if ((await tx.launches.find(id))?.state !== 'ended') await endLaunch(tx, { id, stageId }, end);
    };
    try {
      await storing.store.transact(settle);
    } catch (failure) {
      if (!isStorageFailure(failure)) throw failure;
      track(retryUntilStored(storing, settle)).catch((cause: unknown) =>
        storing.log.error({ err: cause, stageId }, 'settling a failed start failed'),
      );
    }
  }

  return {
    /** Resolves when the process is up. A failure is settled, then thrown. */
    begin(begun: BegunLaunch, onSettingUp: () => void = () => undefined): Promise<void> {
      const { stageId } = begun;
      const { promise, resolve } = Promise.withResolvers<void>();
      notAttached.set(stageId, promise);
      const onAttached = () => {
        if (notAttached.get(stageId) === promise) notAttached.delete(stageId);
        resolve();
      };
      const launched = spawnLaunch(deps, begun, { onSettingUp, onAttached }).catch(async (error: unknown) => {
        if (!storing.signal.aborted) await settleFailed(begun, error);
        throw error;
      });
      launched.then(onAttached, onAttached);
      return track(launched);
    },
    attached: async (stageId: StageId): Promise<void> => notAttached.get(stageId),
    settled: async (): Promise<void> => void (await Promise.allSettled(running)),
  };
}

/** What kept Claude from being started, if a person can do something about it on the stage's page. */
function outcomeCode(error: unknown): TurnOutcome['code'] {
  switch (error instanceof AppError ? error.code : null) {
    case 'setup_failed':
      return 'setup-failed';
    case 'fetch_failed':
      return 'fetch-failed';
    case 'settings_invalid':
      return 'settings-invalid';
    case 'settings_not_agreed':
      return 'settings-not-agreed';
    case 'worktree_replaced':
      return 'worktree-replaced';
    default:
      return null;
  }
}

function launchRejection(error: unknown): unknown {
  if (!(error instanceof AppError) || error instanceof Rejection) return error;
  switch (error.code) {
    case 'claude_missing':
    case 'claude_too_old':
    case 'worktree_failed':
    case 'worktree_replaced':
    case 'setup_failed':
    case 'fetch_failed':
      return new Rejection(error.code, error.message, { cause: error });
    default:
      return new Rejection('launch_failed', `The session could not be started. ${error.message}`, { cause: error });
  }
}

export interface SpawnDeps {
  /** Its signal aborts when Callboard stops. */
  storing: RetryDeps;
  worktrees: Worktrees;
  trust: LaunchTrustSource;
  dataDir: string;
  claude: LaunchPrograms;
  sandbox: LaunchSandboxes;
  /** The user's environment. */
  env: Record<string, string>;
  graces: StopGraces;
  initializeTimeoutMs: number;
  attach: (launchId: LaunchId, process: AgentProcess) => Promise<RunningLaunch>;
  setUp: LaunchSetUp;
  lowPriorityWork: ExecutorDeps['lowPriorityWork'];
}

/** Sets up the worktree of a launch, if it is new. */
export type LaunchSetUp = Pick<SetUp, 'run' | 'stop' | 'baseOf'>;

/** Tells how far a launch is. */
export interface LaunchProgress {
  /** The worktree is being set up, which may take long. */
  onSettingUp: () => void;
  /** The process is attached, and not up yet. */
  onAttached: () => void;
}

/** Knows which program to start. */
export interface LaunchPrograms {
  /** Rejects with OperationalError `claude_missing`, `claude_too_old`. */
  program(): Promise<LaunchProgram>;
  /** A process reported this version. If another one was expected, the program is checked again at the next start. */
  saw(version: string): void;
  /** The program did not come up as expected, so it is checked again at the next start. */
  invalidate(): void;
}

interface LaunchProgram {
  path: string;
  version: string | null;
  flags: ReadonlySet<string> | null;
  gaps: readonly string[];
}

/** Knows whether the sandbox works. */
export interface LaunchSandboxes {
  forLaunch(): Promise<SandboxSupport & { isRefused: boolean }>;
  /** Records why Claude Code, started with the sandbox, could not use it. */
  refused(why: string): void;
}

/**
 * Spawns the process of a launch, records it, attaches to it, and resolves when it is up.
 * @throws OperationalError `claude_missing`, `claude_too_old`, `worktree_failed`, `setup_failed`, `launch_failed`, and whatever spawning throws
 */
async function spawnLaunch(deps: SpawnDeps, begun: BegunLaunch, progress: LaunchProgress): Promise<void> {
  const { worktrees, dataDir, env, initializeTimeoutMs } = deps;
  const { stageId, launchId } = begun;
  const making = createLaunchFolder(begun.folder); // beside all that has to be known first
  making.catch(() => undefined); // whatever fails first is reported
  const { program, place, inside, isolation } = await prepareLaunch(deps, begun, progress).catch(async (error) => {
    await making.catch(() => undefined);
    await rm(begun.folder, { recursive: true, force: true });
    throw error;
  });
  await making;
  const { project, cwd, trust: given } = place;
  const launch = { ...launchOptions(begun, project, given), dataDir, env, sandbox: inside, flags: program.flags };
  const userSettingsOnly = given.leftOut === null ? null : { worktree: cwd, preferences: given.preferences };
  const options = { ...launch, userSettingsOnly };
  const variables = {
    ...claudeVariables(options),
    ...(inside && (await temporaryVariables(env.TMPDIR ?? tmpdir(), dataDir, stageId))),
    [LAUNCH_MARKER]: launchId,
  };
  const reportsDamage = findDamage(deps, begun); // beside the start, which reads the same record
  worktrees.requireInPlace(project, { path: cwd }); // a set-up may have taken minutes
  const process = await spawnClaude({
    command: program.path,
    args: claudeArguments(options),
    cwd,
    env: { ...env, ...variables },
    folder: begun.folder,
    mark: await createProcessMarks(dataDir).of(stageId),
  });
  const settings = launchSettings(begun, project, given, inside);
  const running = await recordAndAttach(deps, { launchId, process, settings }, async (tx) => {
    await reportTrust(tx, begun, given);
    await changeSession(tx, stageId, (change) => {
      setCliGaps(change, tx.now, program);
      takeIsolation(change, isolation);
    });
  });
  progress.onAttached();
  const initialized = running.executor.reply(begun.initializeId, AbortSignal.timeout(initializeTimeoutMs));
  await untilUp(deps, running, initialized);
  if (place.isNew) prepareNext(deps, place);
  await reportsDamage();
}

/** Finds out, and makes, what the process is started with. */
async function prepareLaunch(deps: SpawnDeps, begun: BegunLaunch, { onSettingUp }: LaunchProgress) {
  const { storing, worktrees, trust, dataDir, env, sandbox, setUp } = deps;
  const program = await deps.claude.program();
  const place = await prepareWorktree({ store: storing.store, worktrees, trust, baseOf: setUp.baseOf }, begun);
  await setUp.run(begun.stageId, storing.signal, onSettingUp);
  const { stage, project, cwd: worktree } = place;
  const { excluded } = place.trust;
  const wish = { stage, project, worktree, dataDir, env, version: program.version, excluded };
  const { sandbox: inside, isolation } = await chooseSandbox(wish, sandbox.forLaunch);
  return { program, place, inside, isolation };
}

/** A stage that works all the time does not keep the next one waiting. */
const SPARE_LATEST_MS = 60_000;

/** Has the worktree of the project's next stage checked out beforehand. */
function prepareNext(deps: SpawnDeps, { stage, project: { id }, cwd }: LaunchLocation): void {
  const { storing, worktrees, setUp, lowPriorityWork } = deps;
  const prepare = async (signal: AbortSignal) => {
    const project = await storing.store.read.projects.find(id);
    if (project === null) return;
    const isDiskLow = () => storing.store.transact(async (tx) => tx.diskPauseReason() !== null);
    if (!project.settings.spareWorktree || (await isDiskLow())) return worktrees.removeSpare(project);
    const commit = async () => {
      if ((await storing.store.read.projects.find(id)) === null) return null;
      const base = await worktrees.knownBase(project, await setUp.baseOf({ ...stage, base: null }));
      return worktrees.startCommit(project, base);
    };
    await worktrees.prepareSpare(project, { model: { path: cwd }, commit }, signal);
  };
  lowPriorityWork.add(stage.id, 'spare worktree', prepare, SPARE_LATEST_MS);
}

/** Looks at the record of the conversation that is resumed. @returns a function that reports what it lacks; it does not reject */
function findDamage({ storing, env }: SpawnDeps, { stageId, conversation }: BegunLaunch): () => Promise<void> {
  const sessionId = 'resume' in conversation ? conversation.resume : undefined;
  if (sessionId === undefined) return async () => undefined;
  const noted = (error: unknown) =>
    storing.log.warn({ err: error, stageId }, 'looking at the record of a conversation failed');
  const watching = conversationCondition(env, sessionId).catch(noted);
  return async () => {
    const found = await watching;
    if (found) await storing.store.transact((tx) => reportDamage(tx, stageId, { sessionId, ...found })).catch(noted);
  };
}

const rulesOf = ({ rules }: BegunLaunch, kind: PermissionRule['kind']): string[] =>
  rules.flatMap((rule) => (rule.kind === kind ? [rule.rule] : []));

function launchOptions(begun: BegunLaunch, project: Project, given: LaunchTrust) {
  const { permissionMode, model, effort, conversation } = begun;
  const allow = rulesOf(begun, 'allow');
  return {
    permissionMode,
    model,
    effort,
    conversation,
    allow: [...allow, ...given.allow],
    directories: [...rulesOf(begun, 'directory'), ...given.directories],
    hosts: [...project.settings.sandboxHosts, ...rulesOf(begun, 'host')],
    sessionMessages: project.settings.sessionMessages,
    // A rule that was allowed in Callboard is allowed, wherever else it is.
    ask: given.ask.filter((rule) => !allow.includes(rule)),
    deny: given.deny,
  };
}

function launchSettings(
  begun: BegunLaunch,
  project: Project,
  given: LaunchTrust,
  sandbox: LaunchSandbox | null,
): LaunchSettings {
  return {
    runsRepositoryHooks: given.hasHooks,
    ...given.atLaunch,
    // A rule that Callboard itself allows is not new if it also appears in a file.
    rules: [...given.atLaunch.rules, ...rulesOf(begun, 'allow')],
    isSandboxed: sandbox !== null,
    autoAllows: sandbox?.autoAllow ?? false,
    readsRepository: given.leftOut === null,
    excluded: given.excluded,
    isKnown: true,
    sessionMessages: project.settings.sessionMessages,
  };
}

interface Spawned {
  launchId: LaunchId;
  process: AgentProcess;
  settings: LaunchSettings;
}

/** A process that cannot be attached is ended before its launch is settled, so no process runs unwatched. */
async function recordAndAttach(
  { storing, graces, attach }: SpawnDeps,
  { launchId, process, settings }: Spawned,
  report: (tx: Tx) => Promise<void>,
): Promise<RunningLaunch> {
  try {
    // On disk before the process is given anything: a launch without a process counts as one that never ran.
    await retryUntilStored(
      storing,
      async (tx) => {
        await tx.launches.setLive(launchId, process.identity, settings);
        await report(tx);
      },
      { sync: 'now' },
    );
    return await attach(launchId, process);
  } catch (error) {
    // If Callboard stops before it could record the process, the next start finds the process by its marker.
    if (!storing.signal.aborted) await endMarked([launchId], graces.signalMs);
    throw error;
  }
}

async function untilUp(
  { claude, sandbox, initializeTimeoutMs }: SpawnDeps,
  running: RunningLaunch,
  initialized: Promise<unknown>,
): Promise<void> {
  try {
    await initialized;
  } catch (error) {
    claude.invalidate(); // the program may have been replaced
    const isLate = error instanceof DOMException && error.name === 'TimeoutError';
    if (isLate) await running.stop(`Claude Code did not answer within ${initializeTimeoutMs / 1000} s of its start.`);
    if (error instanceof ProtocolError) await running.stop(`Claude Code refused to begin: ${error.message}.`);
    const end = await running.ended;
    const refusal = refusalOfSandbox(end?.reason ?? '');
    if (refusal !== null) sandbox.refused(refusal);
    throw new OperationalError('launch_failed', end?.reason ?? messageOf(error), { cause: error });
  }
}

/** Reports in the transcript which settings the launch runs without, and which rules are asked for although a file allows them. */
async function reportTrust(tx: Tx, { stageId }: BegunLaunch, { leftOut, newPersonal }: LaunchTrust): Promise<void> {
  const before = (await tx.sessions.find(stageId))?.leftOut ?? null;
  if (leftOut === null && before === null && newPersonal.length === 0) return;
  await changeSession(tx, stageId, (change) => {
    change.record = { ...change.record, leftOut };
    if (leftOut !== null) addNotice(change, tx.now, leftOutNotice(leftOut));
    if (newPersonal.length > 0) addNotice(change, tx.now, newRulesNotice(newPersonal));
  });
}
