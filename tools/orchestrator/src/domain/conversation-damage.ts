import type { StageId } from '@callboard/contract';
import type { Tx } from '../store/store.ts';
import { changeSession } from './change-session.ts';
import { addNotice } from './session-change.ts';

/** Remembers how long a conversation's record was when the last process that wrote it had ended: it only grows. */
export async function rememberRecord(
  tx: Tx,
  stageId: StageId,
  { sessionId, bytes }: { sessionId: string; bytes: number },
) {
  await changeSession(tx, stageId, (change) => {
    if (change.record.sessionId !== sessionId) return;
    const before = change.record.conversationRecord;
    const brokenLines = before?.sessionId === sessionId ? before.brokenLines : 0;
    change.record = { ...change.record, conversationRecord: { sessionId, bytes, brokenLines } };
  });
}

/** What a resume found of a conversation's record. */
interface FoundRecord {
  sessionId: string;
  bytes: number;
  brokenLines: number;
}

/**
 * Says that a conversation was resumed without a part of it: Claude Code skips lines that it cannot read, and does not know
 * what it no longer has. Each damage is told once.
 */
export async function reportDamage(tx: Tx, stageId: StageId, { sessionId, bytes, brokenLines }: FoundRecord) {
  const record = await tx.sessions.find(stageId);
  const before = record?.conversationRecord?.sessionId === sessionId ? record.conversationRecord : null;
  const newlyBroken = brokenLines - (before?.brokenLines ?? 0);
  const lost = (before?.bytes ?? 0) - bytes;
  if (record === null || (newlyBroken <= 0 && lost <= 0)) return;
  const what = [
    lost > 0 ? `is ${lost} bytes shorter than when its last process ended` : '',
    newlyBroken > 0 ? `has ${newlyBroken === 1 ? '1 line that is' : `${newlyBroken} lines that are`} cut off` : '',
  ];
  const text = `Claude Code's record of this conversation ${what.filter((text) => text !== '').join(' and ')}. Claude was resumed without that part and does not know of it, although it stands above. What was done in the worktree stands: tell Claude what it needs to know.`;
  await changeSession(tx, stageId, (change) => {
    change.record = { ...change.record, conversationRecord: { sessionId, bytes, brokenLines } };
    addNotice(change, tx.now, { level: 'warning', code: 'conversation-damaged', text });
  });
}
