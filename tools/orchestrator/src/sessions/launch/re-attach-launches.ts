import { readlink } from 'node:fs/promises';
import type { LaunchId } from '@callboard/contract';
import { identify, isAlive, type ProcessIdentity } from '@callboard/runtime/process-identity';
import { settlesWithin } from '@callboard/runtime/settles-within';
import { launchFiles } from '../../claude/launch/launch-folder.ts';
import { adoptProcess } from '../../claude/launch/spawn-claude.ts';
import { endStragglers, terminate } from '../../claude/processes/end-processes.ts';
import { findMarkedProcesses } from '../../claude/processes/marked-processes.ts';
import { endLaunch } from '../../domain/end-launch.ts';
import { forEachAtOnce } from '../../lib/at-once.ts';
import { messageOf, Rejection } from '../../lib/errors.ts';
import type { Logger } from '../../lib/logger.ts';
import { createNudgedWorker } from '../../lib/nudged-worker.ts';
import type { LaunchRecord } from '../../store/records.ts';
import type { Store } from '../../store/store.ts';
import type { Adopted, Sessions } from '../sessions.ts';
import { BEGUN_AGAIN } from './launcher.ts';

export interface ReAttachParts {
  store: Store;
  sessions: Pick<Sessions, 'adopt' | 'settle' | 'beginAgain'>;
  log: Logger;
  signalGraceMs: number;
  /** How often those are tried again that could not be taken up. */
  againMs: number;
}

/** Knows which sessions are not taken up yet, and goes on trying. */
export interface ReAttaching {
  /** What people at the board should know: that some could not be taken up, and why. Null when all are. */
  trouble(): string | null;
  /** Returns how to stop listening. */
  onChange(listener: () => void): () => void;
  /** Tries no more; resolves when what runs has ended. */
  stop(): Promise<void>;
}

/** Each needs the store, the file system and `/proc` in turn; one that has to be ended waits for its graces. */
const AT_ONCE = 16;
/** Each check is some transactions, and people's commands wait for those before them. */
const CHECKS_AT_ONCE = 4;
/** A process that does not answer makes the next one wait for no longer than this. */
const CHECK_MS = 1_000;

/**
 * After a restart of ours: every launch that had not ended is taken up again if its very process still lives, and
 * settled if not. What ended launches have left is ended. Resolves when that was tried for all of them. One launch that cannot be settled, or takes long, does not
 * hold up the others; what failed (for lack of file descriptors, say) is tried again until it works. What the living ones
 * wait for is checked after that, a few at a time: the store can write for others meanwhile.
 */
export async function reAttachLaunches(parts: ReAttachParts): Promise<ReAttaching> {
  const { store, log, againMs } = parts;
  const listeners = new Set<() => void>();
  let failed: readonly Failure[] = [];

  async function tryAll(launches: readonly LaunchRecord[]): Promise<void> {
    const checks: Adopted[] = [];
    const failures: Failure[] = [];
    await forEachAtOnce(launches, AT_ONCE, async (launch) => {
      try {
        const adopted = await reAttach(parts, launch);
        if (adopted !== null) checks.push(adopted);
      } catch (error) {
        log.error({ err: error, launchId: launch.id, stageId: launch.stageId }, 're-attaching failed');
        failures.push({ launchId: launch.id, reason: messageOf(error) });
      }
    });
    void forEachAtOnce(checks, CHECKS_AT_ONCE, async ({ check }) => void (await settlesWithin(check(), CHECK_MS)));
    const before = wordsFor(failed);
    failed = failures;
    if (wordsFor(failed) !== before) for (const listener of listeners) listener();
  }

  const again = createNudgedWorker(
    async () => {
      const ids = new Set(failed.map(({ launchId }) => launchId));
      await tryAll((await store.read.launches.listNotEnded()).filter(({ id }) => ids.has(id)));
    },
    (error) => log.error({ err: error }, 're-attaching was not tried again'),
  );
  const stragglers = endStragglers(store.read.launches, parts.signalGraceMs).catch((error: unknown) =>
    log.warn({ err: error }, 'what ended sessions left running could not be ended'),
  );
  await tryAll(await store.read.launches.listNotEnded());
  const timer = setInterval(() => {
    if (failed.length > 0) again.nudge();
  }, againMs).unref();
  return {
    trouble: () => wordsFor(failed),
    onChange: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    stop: async () => {
      clearInterval(timer);
      await again.stop();
      await stragglers;
    },
  };
}

interface Failure {
  launchId: LaunchId;
  reason: string;
}

function wordsFor([first, ...others]: readonly Failure[]): string | null {
  if (first === undefined) return null;
  const which = others.length === 0 ? 'One session' : `${others.length + 1} sessions`;
  return `${which} could not be taken up again (${first.reason}), so what the board shows of it may be old. This is tried again every few seconds; a process that lives goes on meanwhile.`;
}

/** @returns null for a launch that has ended. */
async function reAttach(parts: ReAttachParts, launch: LaunchRecord): Promise<Adopted | null> {
  const { store, sessions, log, signalGraceMs } = parts;
  const identity = launch.process ?? (await findUnrecorded(launch));
  if (identity === null) {
    await beginAgain(parts, launch);
    return null;
  }
  if (launch.process === null) await store.transact((tx) => tx.launches.setLive(launch.id, identity));
  if (!(await isAlive(identity))) {
    await sessions.settle(launch.id, identity);
    return null;
  }
  const rows = await store.read.outbox.listOf(launch.id, ['accepted']);
  if (rows.some((row) => row.writing)) {
    // Half a line may stand in the pipe, and whatever is written behind it would end the process anyway.
    log.warn(
      { launchId: launch.id },
      'a long line was cut off by a crash; the process is ended, the session can be resumed',
    );
    await terminate(identity, signalGraceMs);
    await sessions.settle(launch.id, identity);
    return null;
  }
  return sessions.adopt(launch.id, adoptProcess(identity));
}

/** So often in a row a start is tried again: one that ends Callboard each time must not do so for ever. */
const MOST_AGAIN = 10;

/** Nothing was run, and whoever asked for the start wants it still. */
async function beginAgain({ store, sessions, log }: ReAttachParts, launch: LaunchRecord): Promise<void> {
  const { id, stageId } = launch;
  const before = (await store.read.launches.listOf(stageId)).filter((other) => other.id !== id).slice(-MOST_AGAIN);
  const isOften = before.length === MOST_AGAIN && before.every(({ endReason }) => endReason === BEGUN_AGAIN);
  let reason = 'Callboard was ended while it was starting Claude Code; nothing was run. Start the stage again.';
  try {
    if (!isOften) return await sessions.beginAgain(launch);
  } catch (error) {
    if (!(error instanceof Rejection)) throw error;
    log.warn({ err: error, stageId }, 'a start that was cut off could not be begun again');
    reason = `Callboard was ended while it was starting Claude Code; nothing was run. ${error.message}`;
  }
  await store.transact((tx) => endLaunch(tx, { id, stageId }, { kind: 'not-started', reason }));
}

/** The process of a launch whose spawn was never recorded: it carries the marker and has the launch's FIFO as its input. */
async function findUnrecorded(launch: LaunchRecord): Promise<ProcessIdentity | null> {
  const marked = await findMarkedProcesses();
  for (const pid of marked.get(launch.id) ?? []) {
    const input = await readlink(`/proc/${pid}/fd/0`).catch(() => null);
    if (input === launchFiles(launch.folder).input) return identify(pid);
  }
  return null;
}
