import { readlink } from 'node:fs/promises';
import type { LaunchId } from '@callboard/contract';
import { createEmitter } from '@callboard/runtime/emitter';
import { messageOf } from '@callboard/runtime/errors';
import { identify, isAlive, type ProcessIdentity } from '@callboard/runtime/process-identity';
import { createReconciler } from '@callboard/runtime/reconciler';
import { settlesWithin } from '@callboard/runtime/settles-within';
import { forEachAtOnce } from '../../lib/async.ts';
import { Rejection } from '../../lib/errors.ts';
import { endStragglers, findMarkedProcesses, terminate } from '../../platform/process-table.ts';
import type { Logger } from '../../platform/runtime.ts';
import type { LaunchRecord } from '../../store/records.ts';
import type { Store } from '../../store/store.ts';
import { adoptProcess, launchFiles } from '../claude/claude-process.ts';
import { endLaunch } from '../session/end-launch.ts';
import { BEGUN_AGAIN } from './launcher.ts';
import type { Adopted, Sessions } from './sessions.ts';

export interface ReAttachDeps {
  store: Store;
  sessions: Pick<Sessions, 'adopt' | 'settle' | 'beginAgain'>;
  log: Logger;
  signalGraceMs: number;
  /** As `Survivors.add`. */
  onSurvivors?: (launchIds: readonly LaunchId[]) => void;
  /** How often launches that could not be re-attached are retried. */
  againMs: number;
}

/** Knows which launches are not re-attached yet, and retries them. */
export interface ReAttaching {
  /** Why some launches could not be re-attached, for people at the board; null if all are. */
  storageError(): string | null;
  /** Returns how to stop listening. */
  onChange(listener: () => void): () => void;
  /** Stops retrying; resolves when the running attempt has ended. */
  stop(): Promise<void>;
}

/**
 * How many launches are re-attached at once. Each needs the store, the file system and `/proc` in turn; one that must be
 * ended waits for its grace periods.
 */
const AT_ONCE = 16;
/** How many processes are checked at once. Each check takes several transactions, and people's commands queue behind them. */
const CHECKS_AT_ONCE = 4;
/** The longest time for which a process that does not answer delays the next one. */
const CHECK_MS = 1_000;

/**
 * After a restart of Callboard: re-attaches every launch that has not ended if its process is still alive, and settles it
 * if not. Ends processes that ended launches left behind. Resolves when each launch was tried once. A launch that fails
 * or takes long does not delay the others; failures (for lack of file descriptors, for example) are retried until they
 * succeed. The open requests of living processes are checked afterwards, a few at a time, so the store can serve others.
 */
export async function reAttachLaunches(deps: ReAttachDeps): Promise<ReAttaching> {
  const { store, log, againMs } = deps;
  const changed = createEmitter();
  let failed: readonly Failure[] = [];

  async function tryAll(launches: readonly LaunchRecord[]): Promise<void> {
    const checks: Adopted[] = [];
    const failures: Failure[] = [];
    await forEachAtOnce(launches, AT_ONCE, async (launch) => {
      try {
        const adopted = await reAttach(deps, launch);
        if (adopted !== null) checks.push(adopted);
      } catch (error) {
        log.error({ err: error, launchId: launch.id, stageId: launch.stageId }, 're-attaching a launch failed');
        failures.push({ launchId: launch.id, reason: messageOf(error) });
      }
    });
    void forEachAtOnce(checks, CHECKS_AT_ONCE, async ({ check }) => void (await settlesWithin(check(), CHECK_MS)));
    const before = textFor(failed);
    failed = failures;
    if (textFor(failed) !== before) changed.emit();
  }

  const stragglers = endStragglers(store.read.launches, deps.signalGraceMs, deps.onSurvivors).catch((error: unknown) =>
    log.warn({ err: error }, 'ending processes that sessions left behind failed'),
  );
  await tryAll(await store.read.launches.listNotEnded());
  const again = createReconciler(
    async () => {
      if (failed.length === 0) return;
      const ids = new Set(failed.map(({ launchId }) => launchId));
      await tryAll((await store.read.launches.listNotEnded()).filter(({ id }) => ids.has(id)));
    },
    (error) => log.error({ err: error }, 'retrying to re-attach failed'),
    { everyMs: againMs },
  );
  return {
    storageError: () => textFor(failed),
    onChange: changed.subscribe,
    stop: async () => {
      await again.stop();
      await stragglers;
    },
  };
}

interface Failure {
  launchId: LaunchId;
  reason: string;
}

function textFor([first, ...others]: readonly Failure[]): string | null {
  if (first === undefined) return null;
  const which = others.length === 0 ? 'One session' : `${others.length + 1} sessions`;
  return `${which} could not be re-attached (${first.reason}), so the board may show an old state. Callboard retries every few seconds; a process that is alive goes on meanwhile.`;
}

/** @returns null for a launch that has ended */
async function reAttach(deps: ReAttachDeps, launch: LaunchRecord): Promise<Adopted | null> {
  const { store, sessions, log, signalGraceMs } = deps;
  const identity = launch.process ?? (await findUnrecorded(launch));
  if (identity === null) {
    await beginAgain(deps, launch);
    return null;
  }
  if (launch.process === null) await store.transact((tx) => tx.launches.setLive(launch.id, identity));
  if (!(await isAlive(identity))) {
    await sessions.settle(launch.id, identity);
    return null;
  }
  const rows = await store.read.outbox.listOf(launch.id, ['accepted']);
  if (rows.some((row) => row.writing)) {
    // The pipe may hold half a line, and anything written behind it would end the process anyway.
    log.warn({ launchId: launch.id }, 'a crash cut off a long line; ending the process, the session can be resumed');
    await terminate(identity, signalGraceMs);
    await sessions.settle(launch.id, identity);
    return null;
  }
  return sessions.adopt(launch.id, adoptProcess(identity));
}

/** How often in a row a start is repeated: a start that crashes Callboard must not do so forever. */
const MAX_AGAIN = 10;

/** Repeats a start: nothing has run, and whoever asked for it still wants it. */
async function beginAgain({ store, sessions, log }: ReAttachDeps, launch: LaunchRecord): Promise<void> {
  const { id, stageId } = launch;
  const before = (await store.read.launches.listOf(stageId)).filter((other) => other.id !== id).slice(-MAX_AGAIN);
  const isTooOften = before.length === MAX_AGAIN && before.every(({ endReason }) => endReason === BEGUN_AGAIN);
  let reason = 'Callboard was ended while it was starting Claude Code; nothing has run. Start the stage again.';
  try {
    if (!isTooOften) return await sessions.beginAgain(launch);
  } catch (error) {
    if (!(error instanceof Rejection)) throw error;
    log.warn({ err: error, stageId }, 'repeating an interrupted start was refused');
    reason = `Callboard was ended while it was starting Claude Code; nothing has run. ${error.message}`;
  }
  await store.transact((tx) => endLaunch(tx, { id, stageId }, { kind: 'not-started', reason }));
}

/** Returns the process of a launch whose spawn was never recorded: it carries the marker and reads the launch's FIFO. */
async function findUnrecorded(launch: LaunchRecord): Promise<ProcessIdentity | null> {
  const marked = await findMarkedProcesses();
  for (const pid of marked.get(launch.id) ?? []) {
    const input = await readlink(`/proc/${pid}/fd/0`).catch(() => null);
    if (input === launchFiles(launch.folder).input) return identify(pid);
  }
  return null;
}
