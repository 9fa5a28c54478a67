import type { Effort, PermissionMode, StageId } from '@callboard/contract';
import { refusedMode } from '../claude/launch/arguments.ts';
import { changeSession } from '../domain/change-session.ts';
import { ProtocolError, Rejection } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import { requireStage } from '../store/require.ts';
import { isStorageFailure } from '../store/storage-failure.ts';
import type { Store, Tx } from '../store/store.ts';
import type { RunningLaunch } from './launch/running-launch.ts';
import type { StopGraces } from './launch/stop-launch.ts';

/** A control request to the CLI. */
export interface ControlRequest {
  subtype: string;
  [field: string]: unknown;
}

interface ModelChange {
  model?: string | null | undefined;
  effort?: Effort | undefined;
}

/** Requests to the process of a session. */
export interface ProcessRequests {
  /**
   * Interrupts the running turn. A process that does not confirm in time is ended; its session can be resumed.
   * @param reason in words, for requests that were open in the turn
   * @throws Rejection `no_session`, `not_running`, also if the process turns out to be dead; OperationalError `storage_failed`, and then nothing was done
   */
  interrupt(stageId: StageId, reason?: string): Promise<void>;
  /** Changes the mode of the session, and of its next launches. @throws Rejection `no_session`, `refused_by_claude`, `no_confirmation` */
  setMode(stageId: StageId, mode: PermissionMode): Promise<void>;
  /** Changes the model (null: the default one), the effort, or both. @throws as `setMode` */
  setModel(stageId: StageId, change: ModelChange): Promise<void>;
  /**
   * Returns the reply of the stage's process to a control request.
   * @throws Rejection `no_session`, `not_running`, `no_confirmation`; ProtocolError `refused` with the CLI's words
   */
  ask(stageId: StageId, request: ControlRequest, limitMs?: number): Promise<Record<string, unknown>>;
}

export interface ProcessRequestsDeps {
  store: Store;
  log: Logger;
  graces: StopGraces;
  /** The user's environment. */
  env: Readonly<Record<string, string>>;
  /** As `RunningLookup.find`. */
  findRunning: (stageId: StageId) => Promise<RunningLaunch | undefined>;
  /** As `RunningLookup.require`. */
  requireRunning: (stageId: StageId) => Promise<RunningLaunch>;
}

const CONFIRMATION_MS = 10_000;

export function createProcessRequests(deps: ProcessRequestsDeps): ProcessRequests {
  const { store, env, findRunning, requireRunning } = deps;

  async function requestConfirmed(launch: RunningLaunch, request: ControlRequest): Promise<void> {
    try {
      await ask(launch, request);
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      throw new Rejection('refused_by_claude', `Claude Code refused: ${error.message}`, { cause: error });
    }
    await store.sync(); // the CLI's confirmation is on disk before the person hears of it
  }

  return {
    ask: async (stageId, request, limitMs) => ask(await requireRunning(stageId), request, limitMs),
    async interrupt(stageId, reason) {
      await interrupt(deps, await requireRunning(stageId), reason);
    },
    async setMode(stageId, mode) {
      const launch = await findRunning(stageId);
      if (launch !== undefined) return requestConfirmed(launch, { subtype: 'set_permission_mode', mode });
      const refusal = refusedMode(mode, { uid: process.getuid?.(), env });
      await store.transact((tx) =>
        changeSession(tx, stageId, (change) => {
          if (refusal !== null) throw new Rejection('refused_by_claude', `Claude Code refused: ${refusal}.`);
          change.record = { ...change.record, mode }; // for the next launch
        }),
      );
    },
    async setModel(stageId, { model, effort }) {
      const launch = await findRunning(stageId);
      if (launch !== undefined && model !== undefined) await requestConfirmed(launch, { subtype: 'set_model', model });
      if (launch !== undefined && effort !== undefined) {
        await requestConfirmed(launch, { subtype: 'apply_flag_settings', settings: { effortLevel: effort } });
      }
      await store.transact((tx) => storeModel(tx, stageId, { model, effort }));
    },
  };
}

async function ask(
  { executor }: RunningLaunch,
  request: ControlRequest,
  limitMs = CONFIRMATION_MS,
): Promise<Record<string, unknown>> {
  try {
    return await executor.request(request, AbortSignal.timeout(limitMs));
  } catch (error) {
    if (error instanceof ProtocolError || isStorageFailure(error)) throw error;
    const message =
      'Claude Code did not confirm in time, so it is unknown whether it will follow. Look at the session before trying again.';
    throw new Rejection('no_confirmation', message, { cause: error });
  }
}

async function interrupt({ graces, log }: ProcessRequestsDeps, launch: RunningLaunch, reason?: string): Promise<void> {
  const request = { subtype: 'interrupt', cancel_queued: true };
  try {
    await launch.executor.request(request, AbortSignal.timeout(graces.interruptMs), reason);
  } catch (error) {
    if (isStorageFailure(error)) throw error; // the process was not asked, so it cannot be blamed
    const { stageId } = launch.executor.launch;
    log.warn({ err: error, stageId }, 'an interrupt was not confirmed; ending the process');
    await launch.stop(
      'Claude Code did not react to the interrupt, so its process was ended. A message resumes the session.',
    );
    const end = await launch.ended;
    if (end?.kind !== 'died') return;
    const message = `There was nothing left to interrupt: ${end.reason} The turn is over. A message resumes the session.`;
    throw new Rejection('not_running', message, { cause: error });
  }
}

/** Stores the choice for this session and for later launches. */
async function storeModel(tx: Tx, stageId: StageId, { model, effort }: ModelChange): Promise<void> {
  await changeSession(tx, stageId, (change) => {
    if (effort !== undefined) change.record = { ...change.record, effort };
    // Shown at once; the next turn reports the model that is in use.
    if (model !== undefined) change.record = { ...change.record, model };
  });
  const before = await requireStage(tx, stageId);
  const stage = {
    ...before,
    model: model === undefined ? before.model : model,
    effort: effort ?? before.effort,
    updatedAt: tx.now,
  };
  await tx.stages.update(stage);
  await tx.emit({ type: 'stage-updated', data: { stageId, stage } });
}
