import { readlink } from 'node:fs/promises';
import { terminate } from '../claude/launch/end-processes.ts';
import { launchFiles } from '../claude/launch/launch-folder.ts';
import { findMarkedProcesses } from '../claude/launch/marked-processes.ts';
import { adoptProcess } from '../claude/launch/spawn-claude.ts';
import { forEachAtOnce } from '../lib/at-once.ts';
import type { Logger } from '../lib/logger.ts';
import { identify, isAlive, type ProcessIdentity } from '../lib/process-identity.ts';
import { settlesWithin } from '../lib/wait.ts';
import { endLaunch } from '../session-state/end-launch.ts';
import type { LaunchRecord } from '../store/records.ts';
import type { Store } from '../store/store.ts';
import type { Adopted, Sessions } from './sessions.ts';

export interface ReAttachParts {
  store: Store;
  sessions: Pick<Sessions, 'adopt' | 'settle'>;
  log: Logger;
  signalGraceMs: number;
}

/** Each needs the store, the file system and `/proc` in turn; one that has to be ended waits for its graces. */
const AT_ONCE = 16;
/** Each check is some transactions, and people's commands wait for those before them. */
const CHECKS_AT_ONCE = 4;
/** A process that does not answer makes the next one wait for no longer than this. */
const CHECK_MS = 1_000;

/**
 * After a restart of ours: every launch that had not ended is taken up again if its very process still lives, and
 * settled if not. Resolves when that is done for all of them. One launch that cannot be settled, or takes long, does not
 * hold up the others. What the living ones wait for is checked after that, a few at a time: the store can write for
 * others meanwhile.
 */
export async function reAttachAll(parts: ReAttachParts): Promise<void> {
  const checks: Adopted[] = [];
  await forEachAtOnce(await parts.store.read.launches.listNotEnded(), AT_ONCE, async (launch) => {
    try {
      const adopted = await reAttach(parts, launch);
      if (adopted !== null) checks.push(adopted);
    } catch (error) {
      parts.log.error({ err: error, launchId: launch.id, stageId: launch.stageId }, 're-attaching failed');
    }
  });
  void forEachAtOnce(checks, CHECKS_AT_ONCE, async ({ check }) => void (await settlesWithin(check(), CHECK_MS)));
}

/** @returns null for a launch that has ended. */
async function reAttach(
  { store, sessions, log, signalGraceMs }: ReAttachParts,
  launch: LaunchRecord,
): Promise<Adopted | null> {
  const identity = launch.process ?? (await findUnrecorded(launch));
  if (identity === null) {
    const reason = 'Callboard was ended while it was starting Claude Code; nothing was run. Start the stage again.';
    await store.transact((tx) => endLaunch(tx, launch.stageId, launch.id, { kind: 'not-started', reason }));
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

/** The process of a launch whose spawn was never recorded: it carries the marker and has the launch's FIFO as its input. */
async function findUnrecorded(launch: LaunchRecord): Promise<ProcessIdentity | null> {
  const marked = await findMarkedProcesses();
  for (const pid of marked.get(launch.id) ?? []) {
    const input = await readlink(`/proc/${pid}/fd/0`).catch(() => null);
    if (input === launchFiles(launch.folder).input) return identify(pid);
  }
  return null;
}
