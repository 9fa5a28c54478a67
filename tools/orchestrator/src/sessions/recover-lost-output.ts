import { InitializedState } from '../claude/wire/control.ts';
import { applyEvent } from '../domain/apply-agent-event.ts';
import { changeSession } from '../domain/change-session.ts';
import { addEntry } from '../domain/session-change.ts';
import type { Edges } from '../lib/edges.ts';
import { messageOf } from '../lib/errors.ts';
import type { Tx } from '../store/store.ts';
import type { SessionExecutor } from './executor/session-executor.ts';
import { type RetryParts, retryUntilStored } from './retry-until-stored.ts';

const REPLY_MS = 10_000;

/**
 * What a process printed while its disk was full is gone: it notices nothing of that itself (seen with 2.1.330). The
 * transcript gets a visible gap, and the process is asked anew which requests are open, and whether it still works.
 * Never rejects.
 *
 * @param since when the disk was first seen to be full; null where that is not known, or where a line was cut off, which
 *   shows by itself.
 */
export async function recoverLostOutput(
  executor: SessionExecutor,
  parts: RetryParts & { edges: Edges },
  since: Date | null,
): Promise<void> {
  const { stageId, id: launchId } = executor.launch;
  const { store, log } = parts;
  try {
    const record = await store.read.sessions.find(stageId);
    if (record?.launchId !== launchId || record.state === 'idle') return; // it had nothing to say
    if (since !== null) {
      await retryUntilStored(parts, (tx) => changeSession(tx, stageId, (change) => addGap(change, tx.now, since)));
    }
    await executor.marked();
    const given = await store.read.outbox.listOf(launchId, ['written']);
    // Twice: a message that it had just read may not have begun its turn when it answers for the first time.
    if (!(await isAtRest(executor)) || !(await isAtRest(executor))) return;
    const messageIds = given.flatMap(({ kind, id }) => (kind === 'message' ? [id] : []));
    await retryUntilStored(parts, (tx) => endUnheardTurn(tx, executor, parts.edges, messageIds));
  } catch (error) {
    log.warn({ stageId, reason: messageOf(error) }, 'what was lost could not be made good');
  }
}

/** Asks a process for all that it waits for, and whether it works. */
async function isAtRest(executor: SessionExecutor): Promise<boolean> {
  return saysItRests(await executor.request({ subtype: 'initialize' }, AbortSignal.timeout(REPLY_MS)));
}

/** Whether the reply to an `initialize` says that the process has nothing to do. */
export const saysItRests = (reply: Record<string, unknown>): boolean =>
  InitializedState.parse(reply).response.session_state === 'idle';

function addGap(change: Parameters<typeof addEntry>[0], at: string, since: Date): void {
  const text =
    `The disk was full from ${since.toISOString()} on: what Claude Code printed until now may be missing here. ` +
    'Its work went on; look at the changes in the worktree. Requests that are open were asked for again.';
  addEntry(change, at, { kind: 'notice', parentToolUseId: null, level: 'warning', code: 'output-lost', text });
}

/** The process rests, and what it said of the end of its turn was lost: a person is asked to look. */
async function endUnheardTurn(
  tx: Tx,
  { launch: { stageId, id: launchId } }: SessionExecutor,
  edges: Edges,
  messageIds: readonly string[],
): Promise<void> {
  await changeSession(tx, stageId, async (change) => {
    if (change.record.launchId !== launchId || !change.record.turnRunning) return;
    for (const id of messageIds) await tx.outbox.setConfirmed(id, tx.now);
    const message = 'The turn is over, and how it ended was lost with what Claude Code could not write.';
    const end = { outcome: 'interrupted', message, durationMs: null, costUsd: null, tokens: null } as const;
    const nothing = {
      worktree: null,
      mayHooksAllow: true,
      sandbox: { isOn: false, autoAllows: false },
      mayPeersWrite: true,
      knowsAll: true,
      onAlarm: () => undefined,
    }; // no tool is told of here
    const context = { tx, change, launchId, edges, ...nothing };
    await applyEvent(context, { type: 'turn-ended', end });
  });
}
