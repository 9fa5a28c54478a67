import type { LaunchId, StageId } from '@callboard/contract';
import type { openStdioChannel } from '../../claude/launch/channel.ts';
import type { AgentProcess } from '../../claude/launch/spawn-claude.ts';
import { noSession } from '../../domain/change-session.ts';
import type { LaunchEnd } from '../../domain/end-launch.ts';
import { requireNotInTerminal } from '../../domain/terminal.ts';
import { Rejection } from '../../lib/errors.ts';
import type { LaunchRecord } from '../../store/records.ts';
import type { RetryDeps } from '../../store/retry-until-stored.ts';
import type { Store } from '../../store/store.ts';
import type { Worktrees } from '../../worktrees/worktrees.ts';
import type { ExecutorDeps } from '../executor/session-executor.ts';
import { recoverLostOutput } from '../recover-lost-output.ts';
import { attachLaunch } from './attach-launch.ts';
import { cleanUpSandbox } from './launch-sandbox.ts';
import type { Launcher } from './launcher.ts';
import type { RunningDeps, RunningLaunch } from './running-launch.ts';
import type { StopGraces } from './stop-launch.ts';

/** The dependencies that all executors of launches share; the registry handles the rest of their callbacks. */
export type SharedExecutorDeps = Omit<
  ExecutorDeps,
  'onAlarm' | 'onCutOff' | 'onMisplaced' | 'onUnreadable' | 'onVersion'
>;

export interface LaunchRegistryDeps extends SharedExecutorDeps {
  /** Its signal aborts when Callboard stops. */
  storing: RetryDeps;
  worktrees: Pick<Worktrees, 'clearSandbox'>;
  dataDir: string;
  /** The user's environment. */
  env: Record<string, string>;
  graces: StopGraces;
  /** As `Survivors.add`. */
  onSurvivors?: RunningDeps['onSurvivors'];
  /** As `ExecutorDeps.onVersion`. */
  onVersion: (version: string) => void;
  /** Called when the end of a launch is stored and settled. */
  onEnd: (how: LaunchEnd['kind']) => void;
}

/** All launches with an attached process, by stage. */
export interface LaunchRegistry {
  /** As `attachLaunch`; the launch stays in the registry until it has ended. */
  attach(launchId: LaunchId, process: AgentProcess, open?: typeof openStdioChannel): Promise<RunningLaunch>;
  find(stageId: StageId): RunningLaunch | undefined;
  all(): RunningLaunch[];
  /** Begins to stop the process of a session, if it has one. Never throws. */
  stop(stageId: StageId, reason: string): void;
  /** As `stop`, for a session under alarm. */
  stopAlarmed(stageId: StageId): void;
  /** As `Sessions.resync`. */
  resync(stageId: StageId): void;
}

/** Why a session under alarm is stopped. */
export const ALARMED = 'Stopped by Callboard: the session has an open security alarm.';
const UNREADABLE =
  'Ended by Callboard because the output of Claude Code can no longer be read. A message resumes the session.';

export function createLaunchRegistry(deps: LaunchRegistryDeps): LaunchRegistry {
  const { platform, log, storing } = deps;
  const running = new Map<StageId, RunningLaunch>();

  function forget({ id, stageId }: LaunchRecord): void {
    if (running.get(stageId)?.executor.launch.id === id) running.delete(stageId);
  }

  function stop(stageId: StageId, reason: string): void {
    running
      .get(stageId)
      ?.stop(reason)
      .catch((error: unknown) => log.error({ err: error, stageId }, 'stopping a session failed'));
  }

  function refuse(stageId: StageId, text: string): void {
    running
      .get(stageId)
      ?.refuse(text, 'worktree-replaced')
      .catch((error: unknown) => log.error({ err: error, stageId }, 'stopping a session failed'));
  }

  const stopAlarmed = (stageId: StageId): void => stop(stageId, ALARMED);

  function resync(stageId: StageId): void {
    const launch = running.get(stageId);
    if (launch !== undefined) void recoverLostOutput(launch.executor, { ...storing, platform }, null);
  }

  async function attach(
    launchId: LaunchId,
    process: AgentProcess,
    open?: typeof openStdioChannel,
  ): Promise<RunningLaunch> {
    const callbacks = {
      onVersion: deps.onVersion,
      onAlarm: stopAlarmed,
      onCutOff: resync,
      onMisplaced: refuse,
      onUnreadable: (stageId: StageId) => stop(stageId, UNREADABLE),
      // Whoever sees the end may act on it at once, while processes that the launch left behind are still being ended.
      onEnded: forget,
      onGone: (launch: LaunchRecord) => cleanUpSandbox(deps, launch),
    };
    const attached = await attachLaunch({ ...deps, ...callbacks }, launchId, process, open);
    const { launch } = attached.executor;
    running.set(launch.stageId, attached);
    attached.ended.then(
      (end) => end !== null && deps.onEnd(end.kind),
      () => forget(launch),
    );
    return attached;
  }

  return {
    attach,
    find: (stageId) => running.get(stageId),
    all: () => [...running.values()],
    stop,
    stopAlarmed,
    resync,
  };
}

/** Finds the running launch of a session. */
export interface RunningLookup {
  /**
   * Returns the running launch of a stage, after waiting for one that is being spawned; undefined if there is none.
   * @throws Rejection `not_running` for a process that is alive and could not be re-attached yet
   */
  find(stageId: StageId): Promise<RunningLaunch | undefined>;
  /** @throws Rejection `no_session`, `unknown_stage`, `in_terminal`, `not_running` */
  require(stageId: StageId): Promise<RunningLaunch>;
}

export interface RunningLookupDeps {
  store: Pick<Store, 'read'>;
  registry: Pick<LaunchRegistry, 'find'>;
  launcher: Pick<Launcher, 'attached'>;
}

export function createRunningLookup({ store, registry, launcher }: RunningLookupDeps): RunningLookup {
  async function find(stageId: StageId): Promise<RunningLaunch | undefined> {
    await launcher.attached(stageId);
    const launch = registry.find(stageId);
    if (launch !== undefined || (await store.read.sessions.find(stageId))?.launchId == null) return launch;
    await launcher.attached(stageId); // a launch may have begun meanwhile
    const late = registry.find(stageId);
    if (late !== undefined) return late;
    const message = `Callboard could not re-attach to the process of ${stageId} yet; the process goes on, and the board says why. Retrying. Try again in a moment.`;
    throw new Rejection('not_running', message);
  }

  return {
    find,
    async require(stageId) {
      const launch = await find(stageId);
      if (launch !== undefined) return launch;
      const session = await store.read.sessions.find(stageId);
      if (session === null) throw await noSession(store.read, stageId);
      requireNotInTerminal(session);
      throw new Rejection('not_running', `${stageId} has no running process. Send a message to resume it.`);
    },
  };
}
