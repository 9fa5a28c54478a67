import type { Phase, Stage } from '@callboard/contract';
import { textMessage } from '../store/records.ts';
import type { Tx } from '../store/store.ts';
import { deliverNext } from './message-delivery.ts';
import { addNotice, type SessionChange } from './session-change.ts';

/** Returns the first message of a stage: its prompt, then the prompt of its first phase if it has phases. */
export function firstPrompt({ prompt, pipeline }: Pick<Stage, 'prompt' | 'pipeline'>): string {
  const [first] = pipeline;
  return first === undefined ? prompt : `${prompt}\n\n${first.prompt}`;
}

/** Returns the permission mode that a stage begins in. */
export const firstMode = ({ permissionMode, pipeline }: Pick<Stage, 'permissionMode' | 'pipeline'>): string =>
  pipeline[0]?.permissionMode ?? permissionMode;

/**
 * Continues the pipeline of a session that has become idle with nothing queued: if its phase succeeded, the next one
 * begins, or waits at a gate for a person. Does nothing for a stage without phases, or after the last phase.
 */
export async function followPipeline(tx: Tx, change: SessionChange): Promise<void> {
  const { record } = change;
  if (record.lastTurn?.outcome !== 'succeeded' || record.atGate || record.alarm !== null) return;
  const stage = await tx.stages.find(record.stageId);
  const finished = stage?.pipeline[record.phaseIndex];
  const next = stage?.pipeline[record.phaseIndex + 1];
  if (finished === undefined || next === undefined) return;
  if (finished.gate === 'human' || record.openDenial !== null) {
    change.record = { ...record, atGate: true };
    const denied = record.openDenial === null ? '' : ', but Claude Code denied its last tool call';
    notePhase(
      tx,
      change,
      `The phase "${finished.name}" is finished${denied}. "${next.name}" begins when you advance it.`,
    );
  } else {
    await beginPhase(tx, change, next);
  }
}

/** Begins the next phase: puts its mode and then its prompt into the outbox. */
export async function beginPhase(tx: Tx, change: SessionChange, phase: Phase): Promise<void> {
  const { stageId, launchId, mode } = change.record;
  const row = { stageId, actor: null, createdAt: tx.now };
  if (launchId !== null && phase.permissionMode !== undefined && phase.permissionMode !== mode) {
    const request = { subtype: 'set_permission_mode', mode: phase.permissionMode };
    await tx.outbox.insert({
      ...row,
      id: tx.newId(),
      launchId,
      wireId: tx.newWireId(),
      body: { kind: 'control', request },
    });
  }
  change.record = {
    ...change.record,
    phaseIndex: change.record.phaseIndex + 1,
    atGate: false,
    mode: launchId === null ? (phase.permissionMode ?? mode) : mode,
  };
  notePhase(tx, change, `The phase "${phase.name}" begins.`);
  tx.syncFirst(); // otherwise a power cut could make its prompt again, under an id that Claude does not know
  await tx.outbox.insert({
    ...row,
    id: tx.newId(),
    launchId: null,
    wireId: tx.newWireId(),
    body: textMessage(phase.prompt),
  });
  await deliverNext(tx, change);
}

function notePhase(tx: Tx, change: SessionChange, text: string): void {
  addNotice(change, tx.now, { level: 'info', code: 'phase', text });
}
