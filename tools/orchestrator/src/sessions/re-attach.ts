import { readlink } from 'node:fs/promises';
import { terminate } from '../claude/launch/end-processes.ts';
import { launchFiles } from '../claude/launch/launch-folder.ts';
import { findMarkedProcesses } from '../claude/launch/marked-processes.ts';
import { adoptProcess } from '../claude/launch/spawn-claude.ts';
import type { Logger } from '../lib/logger.ts';
import { identify, isAlive, type ProcessIdentity } from '../lib/process-identity.ts';
import { endLaunch } from '../session-state/end-launch.ts';
import type { LaunchRecord } from '../store/records.ts';
import type { Store } from '../store/store.ts';
import type { Sessions } from './sessions.ts';

export interface ReAttachParts {
  store: Store;
  sessions: Sessions;
  log: Logger;
  signalGraceMs: number;
}

/**
 * After a restart of ours: every launch that had not ended is taken up again if its very process still lives, and
 * settled if not. One launch that cannot be settled does not hold up the others.
 */
export async function reAttachAll(parts: ReAttachParts): Promise<void> {
  for (const launch of await parts.store.read.launches.listNotEnded()) {
    try {
      await reAttach(parts, launch);
    } catch (error) {
      parts.log.error({ err: error, launchId: launch.id, stageId: launch.stageId }, 're-attaching failed');
    }
  }
}

async function reAttach({ store, sessions, log, signalGraceMs }: ReAttachParts, launch: LaunchRecord): Promise<void> {
  const identity = launch.process ?? (await findUnrecorded(launch));
  if (identity === null) {
    const reason = 'Callboard was ended while it was starting Claude Code; nothing was run. Start the stage again.';
    await store.transact((tx) => endLaunch(tx, launch.stageId, launch.id, { kind: 'not-started', reason }));
    return;
  }
  if (launch.process === null) await store.transact((tx) => tx.launches.setLive(launch.id, identity));
  if (!(await isAlive(identity))) {
    await sessions.settle(launch.id, identity);
    return;
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
    return;
  }
  await sessions.adopt(launch.id, adoptProcess(identity));
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
