import { tmpdir } from 'node:os';
import type { LaunchId, PermissionRule, SandboxSupport, StageId } from '@callboard/contract';
import { claudeArguments, claudeVariables } from '../../claude/launch/arguments.ts';
import { createLaunchFolder } from '../../claude/launch/launch-folder.ts';
import { type AgentProcess, spawnClaude } from '../../claude/launch/spawn-claude.ts';
import { temporaryVariables } from '../../claude/launch/stage-temporary-folder.ts';
import { endMarked } from '../../claude/processes/end-processes.ts';
import { LAUNCH_MARKER } from '../../claude/processes/marked-processes.ts';
import { changeSession } from '../../domain/change-session.ts';
import { setCliGaps } from '../../domain/cli-gaps.ts';
import { endLaunch, type LaunchEnd } from '../../domain/end-launch.ts';
import { takeIsolation } from '../../domain/isolation.ts';
import { addEntry } from '../../domain/session-change.ts';
import type { Edges } from '../../lib/edges.ts';
import { AppError, messageOf, OperationalError, ProtocolError, Rejection } from '../../lib/errors.ts';
import type { LaunchRecord, LaunchSettings, MessageRow } from '../../store/records.ts';
import { isStorageFailure } from '../../store/storage-failure.ts';
import type { Tx } from '../../store/store.ts';
import type { LaunchTrust } from '../../trust/launch-trust.ts';
import type { Trust } from '../../trust/trust.ts';
import type { Worktrees } from '../../worktrees/worktrees.ts';
import { type RetryParts, retryUntilStored } from '../retry-until-stored.ts';
import { type BegunLaunch, beginLaunch } from './begin-launch.ts';
import { chooseSandbox, refusalOfSandbox } from './launch-sandbox.ts';
import { leftOutNotice, newRulesNotice, prepareWorktree } from './prepare-worktree.ts';
import type { RunningLaunch, StopGraces } from './running-launch.ts';

/** Why a launch has ended that nothing came of. */
export const BEGUN_AGAIN =
  'Callboard was ended while it was starting Claude Code. Nothing had run, so it is started again.';

export interface LauncherParts {
  /** Its signal aborts when we let go of all. */
  storing: RetryParts;
  edges: Edges;
  worktrees: Worktrees;
  trust: Pick<Trust, 'forLaunch'>;
  dataDir: string;
  /** As `ClaudeWatch.program`, and what is done with one that did not come up. */
  claude: LaunchPrograms;
  sandbox: LaunchSandboxes;
  env: Record<string, string>;
  graces: StopGraces;
  initializeTimeoutMs: number;
  attach: (launchId: LaunchId, process: AgentProcess) => Promise<RunningLaunch>;
}

/** Knows which program to start. */
export interface LaunchPrograms {
  /** Rejects with OperationalError `claude_missing`, `claude_too_old`. */
  program(): Promise<{
    path: string;
    version: string | null;
    flags: ReadonlySet<string> | null;
    gaps: readonly string[];
  }>;
  /** A process told this version: where that is not what was expected, the program is asked anew at the next start. */
  saw(version: string): void;
  /** It did not come up as expected: it is asked anew at the next start. */
  doubt(): void;
}

/** Knows whether the sandbox works. */
export interface LaunchSandboxes {
  forLaunch(): Promise<SandboxSupport & { isRefused: boolean }>;
  /** Claude Code was told to use it, and says why it cannot. */
  refused(why: string): void;
}

/** Begins launches, and spawns what was begun. */
export interface Launcher {
  /** As `Sessions.start`. */
  start(stageId: StageId, actor: string | null): Promise<void>;
  /** Begins a launch in the caller's transaction and spawns it after the commit; false where there is no room for one. */
  launchIn(tx: Tx, stageId: StageId, message: MessageRow): Promise<boolean>;
  /**
   * Ends a launch that nothing came of, and begins another one for what it was to work on, in one transaction.
   * @throws Rejection `disk_low`, and then the launch has not ended
   */
  beginAgain(launch: LaunchRecord): Promise<void>;
  /** Resolves when what was begun for the stage has a process that was taken up, or has failed; at once where nothing is on its way. Never rejects. */
  takenUp(stageId: StageId): Promise<void>;
  /** Resolves when nothing that was begun is on its way any more. */
  settled(): Promise<void>;
}

export function createLauncher(parts: LauncherParts): Launcher {
  const { storing, edges, worktrees, trust, dataDir, env, graces, initializeTimeoutMs, attach, claude, sandbox } =
    parts;
  const { store, log } = storing;
  const launching = new Set<Promise<unknown>>();
  const beforeProcess = new Map<StageId, Promise<void>>();

  async function spawn(stageId: StageId, begun: BegunLaunch, onTakenUp: () => void): Promise<void> {
    const { launchId, folder, conversation, permissionMode, model, effort } = begun;
    const program = await claude.program();
    const { stage, project, cwd, trust: given } = await prepareWorktree({ store, worktrees, trust }, stageId);
    const { version } = program;
    const wish = { stage, project, worktree: cwd, dataDir, env, version, excluded: given.excluded };
    const { sandbox: inside, isolation } = await chooseSandbox(wish, sandbox.forLaunch);
    const ruled = (kind: PermissionRule['kind']) =>
      begun.rules.flatMap((rule) => (rule.kind === kind ? [rule.rule] : []));
    const allow = ruled('allow');
    await createLaunchFolder(folder);
    const launch = {
      dataDir,
      permissionMode,
      model,
      effort,
      conversation,
      allow: [...allow, ...given.allow],
      directories: [...ruled('directory'), ...given.directories],
      hosts: [...project.settings.sandboxHosts, ...ruled('host')],
      sandbox: inside,
      sessionMessages: project.settings.sessionMessages,
      // What was allowed here is allowed, wherever else it stands.
      ask: given.ask.filter((rule) => !allow.includes(rule)),
      deny: given.deny,
      flags: program.flags,
      userSettingsOnly: given.leftOut === null ? null : { worktree: cwd, preferences: given.preferences },
    };
    const variables = {
      ...claudeVariables(launch),
      ...(inside && (await temporaryVariables(env.TMPDIR ?? tmpdir(), dataDir, stageId))),
      [LAUNCH_MARKER]: launchId,
    };
    const process = await spawnClaude({
      command: program.path,
      args: claudeArguments(launch),
      cwd,
      env: { ...env, ...variables },
      folder,
    });
    const settings = {
      runsRepositoryHooks: given.hasHooks,
      ...withRules(given, allow),
      ...{ isSandboxed: inside !== null, autoAllows: inside?.autoAllow ?? false },
      ...{ readsRepository: given.leftOut === null, excluded: given.excluded },
      isKnown: true,
      sessionMessages: project.settings.sessionMessages,
    };
    const session = await takeUp(launchId, process, settings, async (tx) => {
      await tellTrust(tx, stageId, given);
      await changeSession(tx, stageId, (change) => {
        setCliGaps(change, tx.now, program);
        takeIsolation(change, isolation);
      });
    });
    onTakenUp();
    await untilUp(session, session.executor.reply(begun.initializeId, AbortSignal.timeout(initializeTimeoutMs)));
  }

  /** A process that cannot be taken up is ended before its launch is settled: nothing runs that nobody sees. */
  async function takeUp(
    launchId: LaunchId,
    process: AgentProcess,
    settings: LaunchSettings,
    tell: (tx: Tx) => Promise<void>,
  ): Promise<RunningLaunch> {
    try {
      // On disk before it is given anything: a launch without a process is taken for one that never ran.
      await retryUntilStored(
        storing,
        async (tx) => {
          await tx.launches.setLive(launchId, process.identity, settings);
          await tell(tx);
        },
        { sync: 'now' },
      );
      return await attach(launchId, process);
    } catch (error) {
      // One that was spawned and could not be recorded before we were stopped is found by its marker.
      if (!storing.signal.aborted) await endMarked([launchId], graces.signalMs);
      throw error;
    }
  }

  async function untilUp(session: RunningLaunch, initialized: Promise<unknown>): Promise<void> {
    try {
      await initialized;
    } catch (error) {
      claude.doubt(); // it may not be the program that it was taken for
      const late = error instanceof DOMException && error.name === 'TimeoutError';
      if (late) await session.stop(`Claude Code did not answer within ${initializeTimeoutMs / 1000} s of its start.`);
      if (error instanceof ProtocolError) await session.stop(`Claude Code refused to begin: ${error.message}.`);
      const end = await session.ended;
      const refusal = refusalOfSandbox(end?.reason ?? '');
      if (refusal !== null) sandbox.refused(refusal);
      throw new OperationalError('launch_failed', end?.reason ?? messageOf(error), { cause: error });
    }
  }

  /** Spawns what was begun; a failure is settled like a process that died, then told. */
  function carryOut(stageId: StageId, begun: BegunLaunch): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    beforeProcess.set(stageId, promise);
    const onTakenUp = () => {
      if (beforeProcess.get(stageId) === promise) beforeProcess.delete(stageId);
      resolve();
    };
    const launched = spawn(stageId, begun, onTakenUp).catch(async (error: unknown) => {
      if (!storing.signal.aborted) await settleFailed(stageId, begun.launchId, error);
      throw error;
    });
    launched.then(onTakenUp, onTakenUp);
    return whileLaunching(launched);
  }

  /** Whoever stops us waits for it. */
  function whileLaunching<T>(work: Promise<T>): Promise<T> {
    launching.add(work);
    const done = () => launching.delete(work);
    work.then(done, done);
    return work;
  }

  /** Whoever waits for the start hears of its failure also while that cannot be stored. */
  async function settleFailed(stageId: StageId, launchId: LaunchId, error: unknown): Promise<void> {
    const end: LaunchEnd = { kind: 'not-started', reason: messageOf(error) };
    const settle = async (tx: Tx) => {
      if ((await tx.launches.find(launchId))?.state !== 'ended') await endLaunch(tx, { id: launchId, stageId }, end);
    };
    try {
      await store.transact(settle);
    } catch (failure) {
      if (!isStorageFailure(failure)) throw failure;
      whileLaunching(retryUntilStored(storing, settle)).catch((cause: unknown) =>
        log.error({ err: cause, stageId }, 'settling a failed start failed'),
      );
    }
  }

  async function launchIn(tx: Tx, stageId: StageId, message: MessageRow): Promise<boolean> {
    if (tx.diskPauseReason() !== null) {
      await changeSession(tx, stageId, async (change) => {
        await tx.outbox.setBody(message.id, { ...message.body, awaitsRoom: true });
        change.queueChanged = true;
      });
      return false;
    }
    const begun = await beginLaunch(tx, { edges, dataDir }, stageId, message.actor, message);
    tx.afterCommit(() => {
      carryOut(stageId, begun).catch((error: unknown) => log.warn({ err: error, stageId }, 'resuming failed'));
    });
    return true;
  }

  return {
    async start(stageId, actor) {
      const launched = Promise.withResolvers<void>();
      await store.transact(async (tx) => {
        const begun = await beginLaunch(tx, { edges, dataDir }, stageId, actor);
        tx.afterCommit(() => void carryOut(stageId, begun).then(launched.resolve, launched.reject));
      });
      await launched.promise.catch((error: unknown) => {
        throw launchRejection(error);
      });
    },
    beginAgain: ({ id, stageId }) =>
      store.transact(async (tx) => {
        const rows = await tx.outbox.listOf(id, ['accepted', 'written']);
        const given = rows.find(({ kind }) => kind === 'message');
        await endLaunch(tx, { id, stageId }, { kind: 'not-started', reason: BEGUN_AGAIN, isBegunAgain: true });
        const message = (await tx.outbox.queueOf(stageId)).find((row) => row.id === given?.id);
        const begun = await beginLaunch(tx, { edges, dataDir }, stageId, message?.actor ?? null, message);
        tx.afterCommit(() => {
          carryOut(stageId, begun).catch((error: unknown) =>
            log.warn({ err: error, stageId }, 'starting again failed'),
          );
        });
      }),
    takenUp: async (stageId) => beforeProcess.get(stageId),
    launchIn,
    async settled() {
      await Promise.allSettled(launching);
    },
  };
}

/** What Callboard allows itself is not new where it stands in a file as well. */
const withRules = ({ atLaunch }: LaunchTrust, allow: readonly string[]): LaunchTrust['atLaunch'] => ({
  ...atLaunch,
  rules: [...atLaunch.rules, ...allow],
});

/** What the launch went without, and what is asked for all the same. */
async function tellTrust(tx: Tx, stageId: StageId, { leftOut, newPersonal }: LaunchTrust): Promise<void> {
  const before = (await tx.sessions.find(stageId))?.leftOut ?? null;
  if (leftOut === null && before === null && newPersonal.length === 0) return;
  await changeSession(tx, stageId, (change) => {
    change.record = { ...change.record, leftOut };
    if (leftOut !== null) addEntry(change, tx.now, leftOutNotice(leftOut));
    if (newPersonal.length > 0) addEntry(change, tx.now, newRulesNotice(newPersonal));
  });
}

function launchRejection(error: unknown): unknown {
  if (!(error instanceof AppError) || error instanceof Rejection) return error;
  switch (error.code) {
    case 'claude_missing':
    case 'claude_too_old':
    case 'worktree_failed':
      return new Rejection(error.code, error.message, { cause: error });
    default:
      return new Rejection('launch_failed', `The session could not be started. ${error.message}`, { cause: error });
  }
}
