import { MessageId, type StageId } from '@callboard/contract';
import { messageOf } from '@callboard/runtime/errors';
import { changeSession } from '../domain/change-session.ts';
import { addNotice } from '../domain/session-change.ts';
import type { Logger } from '../lib/logger.ts';
import type { OutboxRow } from '../store/records.ts';
import type { Store } from '../store/store.ts';
import type { Worktrees } from '../worktrees/worktrees.ts';
import { beginsTurn, isOfTurn, LOOKBACK } from './find-moment.ts';

export interface SnapshotBeforeDeps {
  store: Store;
  worktrees: Pick<Worktrees, 'snapshotTurn'>;
  log: Logger;
  /** How long a message waits for its files to be kept. */
  limitMs: number;
}

/**
 * Keeps the files from before a message that begins a turn, before Claude gets it: unless they were kept since the turn before it, so
 * that every message can be gone back to. If they cannot be kept, the message is sent nevertheless, and its transcript says why.
 */
export type SnapshotBeforeMessage = (row: OutboxRow, signal: AbortSignal) => Promise<void>;

export function createSnapshotBeforeMessage({
  store,
  worktrees,
  log,
  limitMs,
}: SnapshotBeforeDeps): SnapshotBeforeMessage {
  return async ({ stageId, wireId }, signal) => {
    try {
      const due = await findDue(store, stageId, wireId);
      if (due === null) return;
      const { worktree, session, place } = due;
      const limited = AbortSignal.any([signal, AbortSignal.timeout(limitMs)]);
      try {
        const { commit, tree } = await worktrees.snapshotTurn(worktree, { stageId, name: `before-${wireId}` }, limited);
        const { sessionId: conversationId, phaseIndex, lastTurn } = session;
        await store.transact(
          (tx) =>
            tx.turnMarks.save(stageId, { at: lastTurn?.at ?? tx.now, tree, commit, place, conversationId, phaseIndex }),
          { sync: 'later' },
        );
      } catch (error) {
        if (signal.aborted) return;
        const cause = limited.aborted ? `Git took longer than ${limitMs / 1_000} s.` : messageOf(error);
        const text = `The files before this message were not kept, so they cannot be restored to it: ${cause}`;
        await store.transact((tx) =>
          changeSession(tx, stageId, (change) =>
            addNotice(change, tx.now, { level: 'warning', code: 'files-not-kept', text }),
          ),
        );
      }
    } catch (error) {
      log.warn({ err: error, stageId }, 'keeping the files before a message failed');
    }
  };
}

/** Returns what is to be kept for a message; null if it begins no turn, or if its files were kept. */
async function findDue({ read }: Store, stageId: StageId, wireId: string) {
  const [session, stage, message] = await Promise.all([
    read.sessions.find(stageId),
    read.stages.find(stageId),
    read.transcript.findMessage(stageId, MessageId.parse(wireId)),
  ]);
  const worktree = stage?.worktree ?? null;
  // With `turnBegun`, it joins the turn that runs.
  if (session === null || worktree === null || message === null || session.turnBegun) return null;
  const mark = await read.turnMarks.newestBefore(stageId, message.index);
  const place = message.index - 1;
  const since = place - (mark?.place ?? 0);
  const limit = Math.min(since, LOOKBACK);
  const earlier =
    limit <= 0 ? [] : await read.transcript.page(stageId, { after: undefined, before: message.index, limit });
  if (!earlier.some(isOfTurn) || !beginsTurn(earlier)) return null;
  // It was given to a process before, which may have acted on it.
  const later = await read.transcript.page(stageId, { after: message.index, before: undefined, limit: LOOKBACK });
  return later.some(isOfTurn) ? null : { worktree, session, place };
}
