import type { StageId, TurnOutcome } from '@callboard/contract';
import { messageOf } from '@callboard/runtime/errors';
import { budgetBefore, budgetRefusal, pauseTurn } from '../../domain/budgets.ts';
import { changeSession, openChange } from '../../domain/change-session.ts';
import { endLaunch, type LaunchEnd } from '../../domain/end-launch.ts';
import { isStagePaused, releaseStage } from '../../domain/holds.ts';
import type { Platform } from '../../lib/edges.ts';
import { AppError, Rejection } from '../../lib/errors.ts';
import type { LaunchRecord, MessageRow } from '../../store/records.ts';
import { retryUntilStored } from '../../store/retry-until-stored.ts';
import { isStorageFailure } from '../../store/storage-failure.ts';
import type { Tx } from '../../store/store.ts';
import { type BeginDeps, type BegunLaunch, beginLaunch, type Claims, type LaunchRequest } from './begin-launch.ts';
import { type SpawnDeps, spawnLaunch } from './spawn-launch.ts';

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
    beginAgain: ({ id, stageId }) =>
      store.transact(async (tx) => {
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
      }),
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
