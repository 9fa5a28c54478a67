import { isChecking } from '@callboard/contract';
import { messageOf } from '@callboard/runtime/errors';
import { InitializedState } from '../claude/wire/control.ts';
import { applyEvent } from '../domain/apply-agent-event.ts';
import { changeSession } from '../domain/change-session.ts';
import { addEntry } from '../domain/session-change.ts';
import type { Platform } from '../lib/edges.ts';
import { type RetryDeps, retryUntilStored } from '../store/retry-until-stored.ts';
import type { Tx } from '../store/store.ts';
import type { SessionExecutor } from './executor/session-executor.ts';

const REPLY_MS = 10_000;

/**
 * The output of a process on a full disk is lost, and the process does not notice (seen with 2.1.330). Shows a gap in the
 * transcript, and asks the process for its open requests and whether it still works. Never rejects.
 *
 * @param since when the disk was first seen full; null if unknown, or if a line was cut off, which is visible anyway
 */
export async function recoverLostOutput(
  executor: SessionExecutor,
  deps: RetryDeps & { platform: Platform },
  since: Date | null,
): Promise<void> {
  const { stageId, id: launchId } = executor.launch;
  const { store, log } = deps;
  try {
    const record = await store.read.sessions.find(stageId);
    if (record?.launchId !== launchId || record.state === 'idle' || isChecking(record)) return; // it printed nothing
    if (since !== null) {
      await retryUntilStored(deps, (tx) => changeSession(tx, stageId, (change) => addGap(change, tx.now, since)));
    }
    await executor.marked();
    const given = await store.read.outbox.listOf(launchId, ['written']);
    // Twice: a message that it just read may not have begun its turn at the first answer.
    if (!(await isIdleNow(executor)) || !(await isIdleNow(executor))) return;
    const messageIds = given.flatMap(({ kind, id }) => (kind === 'message' ? [id] : []));
    await retryUntilStored(deps, (tx) => endUnheardTurn(tx, executor, deps.platform, messageIds));
  } catch (error) {
    log.warn({ stageId, reason: messageOf(error) }, 'recovering lost output failed');
  }
}

/** Asks a process for its open requests, and whether it is at rest. */
async function isIdleNow(executor: SessionExecutor): Promise<boolean> {
  return reportsIdle(await executor.request({ subtype: 'initialize' }, AbortSignal.timeout(REPLY_MS)));
}

/** Whether the reply to an `initialize` says that the process has nothing to do. */
export const reportsIdle = (reply: Record<string, unknown>): boolean =>
  InitializedState.parse(reply).response.session_state === 'idle';

function addGap(change: Parameters<typeof addEntry>[0], at: string, since: Date): void {
  const text =
    `The disk was full from ${since.toISOString()} on: what Claude Code printed until now may be missing here. ` +
    'Its work went on; look at the changes in the worktree. Requests that are open were asked for again.';
  addEntry(change, at, { kind: 'notice', parentToolUseId: null, level: 'warning', code: 'output-lost', text });
}

/** The process is at rest and the end of its turn was lost: ends the turn as interrupted, so that a person looks. */
async function endUnheardTurn(
  tx: Tx,
  { launch: { stageId, id: launchId } }: SessionExecutor,
  platform: Platform,
  messageIds: readonly string[],
): Promise<void> {
  await changeSession(tx, stageId, async (change) => {
    if (change.record.launchId !== launchId) return;
    change.record = { ...change.record, reports: [] };
    if (!change.record.turnRunning) return;
    for (const id of messageIds) await tx.outbox.setConfirmed(id, tx.now);
    const message = 'The turn is over. How it ended was lost with the output that Claude Code could not write.';
    const end = { outcome: 'interrupted', message, durationMs: null, costUsd: null, tokens: null } as const;
    const nothing = {
      worktree: null,
      mayHooksAllow: true,
      sandbox: { isOn: false, autoAllows: false },
      mayPeersWrite: true,
      knowsAll: true,
      onAlarm: () => undefined,
    }; // not used by this event
    const context = { tx, change, launchId, platform, ...nothing };
    await applyEvent(context, { type: 'turn-ended', end });
  });
}
