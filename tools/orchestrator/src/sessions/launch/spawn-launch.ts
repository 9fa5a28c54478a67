import { tmpdir } from 'node:os';
import type { LaunchId, PermissionRule, Project, SandboxSupport } from '@callboard/contract';
import { messageOf } from '@callboard/runtime/errors';
import { conversationCondition } from '../../claude/conversation-damage.ts';
import { claudeArguments, claudeVariables } from '../../claude/launch/arguments.ts';
import { createLaunchFolder } from '../../claude/launch/launch-folder.ts';
import { type AgentProcess, spawnClaude } from '../../claude/launch/spawn-claude.ts';
import { temporaryVariables } from '../../claude/launch/stage-temporary-folder.ts';
import { endMarked } from '../../claude/processes/end-processes.ts';
import { LAUNCH_MARKER } from '../../claude/processes/marked-processes.ts';
import type { LaunchSandbox } from '../../claude/sandbox/sandbox-settings.ts';
import { changeSession } from '../../domain/change-session.ts';
import { setCliGaps } from '../../domain/cli-gaps.ts';
import { reportDamage } from '../../domain/conversation-damage.ts';
import { takeIsolation } from '../../domain/isolation.ts';
import { addNotice } from '../../domain/session-change.ts';
import { OperationalError, ProtocolError } from '../../lib/errors.ts';
import { createProcessMarks } from '../../lib/processes/process-mark.ts';
import type { LaunchSettings } from '../../store/records.ts';
import { type RetryDeps, retryUntilStored } from '../../store/retry-until-stored.ts';
import type { Tx } from '../../store/store.ts';
import type { LaunchTrust } from '../../trust/launch-trust.ts';
import type { Trust } from '../../trust/trust.ts';
import type { SetUp } from '../../worktree-commands/set-up.ts';
import type { Worktrees } from '../../worktrees/worktrees.ts';
import type { BegunLaunch } from './begin-launch.ts';
import { chooseSandbox, refusalOfSandbox } from './launch-sandbox.ts';
import { leftOutNotice, newRulesNotice, prepareWorktree } from './prepare-worktree.ts';
import type { RunningLaunch } from './running-launch.ts';
import type { StopGraces } from './stop-launch.ts';

export interface SpawnDeps {
  /** Its signal aborts when Callboard stops. */
  storing: RetryDeps;
  worktrees: Worktrees;
  trust: Pick<Trust, 'forLaunch'>;
  dataDir: string;
  claude: LaunchPrograms;
  sandbox: LaunchSandboxes;
  /** The user's environment. */
  env: Record<string, string>;
  graces: StopGraces;
  initializeTimeoutMs: number;
  attach: (launchId: LaunchId, process: AgentProcess) => Promise<RunningLaunch>;
  setUp: LaunchSetUp;
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
export async function spawnLaunch(deps: SpawnDeps, begun: BegunLaunch, progress: LaunchProgress): Promise<void> {
  const { storing, worktrees, trust, dataDir, env, sandbox, initializeTimeoutMs } = deps;
  const { stageId, launchId } = begun;
  const program = await deps.claude.program();
  const { baseOf } = deps.setUp;
  const place = await prepareWorktree({ store: storing.store, worktrees, trust, baseOf }, begun);
  await deps.setUp.run(stageId, storing.signal, progress.onSettingUp);
  const { stage, project, cwd, trust: given } = place;
  const wish = { stage, project, worktree: cwd, dataDir, env, version: program.version, excluded: given.excluded };
  const { sandbox: inside, isolation } = await chooseSandbox(wish, sandbox.forLaunch);
  await createLaunchFolder(begun.folder);
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
  await reportsDamage();
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
