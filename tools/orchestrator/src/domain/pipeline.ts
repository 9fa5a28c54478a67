import type { Phase, Stage } from '@callboard/contract';
import { textMessage } from '../store/records.ts';
import type { Tx } from '../store/store.ts';
import { deliverNext } from './message-delivery.ts';
import { addEntry, type SessionChange } from './session-change.ts';

/** What the first message of a stage says: its own prompt, and the first phase's if it has phases. */
export function firstPrompt({ prompt, pipeline }: Pick<Stage, 'prompt' | 'pipeline'>): string {
  const [first] = pipeline;
  return first === undefined ? prompt : `${prompt}\n\n${first.prompt}`;
}

/** The mode that a stage begins in. */
export const firstMode = ({ permissionMode, pipeline }: Pick<Stage, 'permissionMode' | 'pipeline'>): string =>
  pipeline[0]?.permissionMode ?? permissionMode;

/**
 * A session has become idle with nothing queued: where its phase went well, the next one begins, or a person is asked
 * to let it begin. Does nothing for a stage without phases, or after its last one.
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
    addNotice(tx, change, `The phase "${finished.name}" is finished${denied}. "${next.name}" begins when you let it.`);
  } else {
    await beginPhase(tx, change, next);
  }
}

/** Puts the next phase to work: its mode first, then its prompt, in this order through the outbox. */
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
  addNotice(tx, change, `The phase "${phase.name}" begins.`);
  tx.syncFirst(); // a power cut must not have its prompt made again, under an id that Claude does not know
  await tx.outbox.insert({
    ...row,
    id: tx.newId(),
    launchId: null,
    wireId: tx.newWireId(),
    body: textMessage(phase.prompt),
  });
  await deliverNext(tx, change);
}

function addNotice(tx: Tx, change: SessionChange, text: string): void {
  addEntry(change, tx.now, { kind: 'notice', parentToolUseId: null, level: 'info', code: 'phase', text });
}
