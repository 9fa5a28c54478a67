import type { SessionState, StageId } from '@callboard/contract';
import { Rejection } from '../lib/errors.ts';
import { type SessionRecord, summaryOf } from '../store/records.ts';
import type { Tables, Tx } from '../store/store.ts';
import { deliverNext, queuedMessage } from './delivery.ts';
import type { SessionDraft } from './draft.ts';
import { followPipeline } from './pipeline.ts';

/** @throws Rejection `no_session` when the stage was never started, `unknown_stage` */
export async function openDraft(tx: Tx, stageId: StageId): Promise<SessionDraft> {
  const record = await tx.sessions.find(stageId);
  if (record === null) throw await noSession(tx, stageId);
  return { before: record, record, entries: [], queueChanged: false, delivered: [] };
}

/** Why the stage has no session: it was never started, or does not exist. */
export async function noSession({ stages }: Pick<Tables, 'stages'>, stageId: StageId): Promise<Rejection> {
  if ((await stages.find(stageId)) === null) return new Rejection('unknown_stage', `There is no stage ${stageId}.`);
  return new Rejection('no_session', `${stageId} has no session: it was never started. Start the stage first.`);
}

/** Whether subagents work in the background; background Bash (a dev server, say) does not count. */
export const agentsWork = ({ backgroundTasks }: SessionRecord): boolean =>
  backgroundTasks.some(({ type }) => type !== 'local_bash' && type !== 'unknown');

/** The state that follows from what is known. */
export function deriveState(record: SessionRecord, openRequests: number): SessionState {
  if (record.phase !== 'live') return record.phase;
  if (openRequests > 0) return 'waiting';
  return record.turnRunning || agentsWork(record) ? 'busy' : 'idle';
}

/**
 * Derives the state, gives a session that has become idle its next queued message or its next phase, stores everything and tells of
 * what changed. A session never shows as idle while a message waits that it could work on.
 */
export async function saveDraft(tx: Tx, draft: SessionDraft): Promise<SessionRecord> {
  const { stageId } = draft.record;
  const open = await tx.requests.countOpenOf(stageId);
  if (deriveState(draft.record, open) === 'idle') await deliverNext(tx, draft);
  if (deriveState(draft.record, open) === 'idle') await followPipeline(tx, draft);
  const state = deriveState(draft.record, open);
  const queued = await tx.outbox.countQueued(stageId); // their attachments are read only when they are told of
  draft.record = {
    ...draft.record,
    state,
    stateSince: state === draft.before.state ? draft.before.stateSince : tx.now,
    // Only what should be working can be silent for too long.
    stalledSince: state === 'busy' ? draft.record.stalledSince : null,
    queued,
    queueHeld: draft.record.queueHeld && queued > 0,
    heldSinceAlarm: draft.record.heldSinceAlarm && draft.record.queueHeld && queued > 0,
    turnUsage: draft.record.turnRunning ? draft.record.turnUsage : null,
  };
  await tx.sessions.save(draft.record);
  if (draft.entries.length > 0) {
    await tx.transcript.append(draft.entries);
    await tx.emit({ type: 'transcript-appended', data: { stageId, index: draft.record.transcriptLength } });
  }
  if (draft.queueChanged || draft.record.queueHeld !== draft.before.queueHeld) {
    const rows = queued === 0 ? [] : (await tx.outbox.queueOf(stageId)).map(queuedMessage);
    await tx.emit({ type: 'queue-updated', data: { stageId, queue: rows, held: draft.record.queueHeld } });
  }
  if (draft.record.mode !== draft.before.mode) {
    await tx.emit({ type: 'mode-changed', data: { stageId, mode: draft.record.mode } });
  }
  const summary = summaryOf(draft.record);
  if (JSON.stringify(summary) !== JSON.stringify(summaryOf(draft.before))) {
    await tx.emit({ type: 'session-updated', data: summary });
  }
  return draft.record;
}

/** Changes a session in a transaction of the caller's. */
export async function changeSession(
  tx: Tx,
  stageId: StageId,
  change: (draft: SessionDraft) => void | Promise<void>,
): Promise<SessionRecord> {
  const draft = await openDraft(tx, stageId);
  await change(draft);
  return saveDraft(tx, draft);
}
