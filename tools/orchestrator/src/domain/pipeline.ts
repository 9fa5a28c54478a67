import {
  awaitedTasks,
  type CheckState,
  checkOf,
  isChecking,
  isReview,
  type Phase,
  renderTemplate,
  type Stage,
  type TemplateValues,
  usesName,
} from '@callboard/contract';
import { truncate } from '../lib/truncate.ts';
import { messageBody, type SessionRecord, textMessage } from '../store/records.ts';
import type { Tx } from '../store/store.ts';
import { currentCheck, dueCheck } from './checks.ts';
import { newestEntries } from './commands-of.ts';
import { deliverNext } from './message-delivery.ts';
import { addNotice, type SessionChange } from './session-change.ts';
import { dueSideRun } from './side-runs.ts';
import { resumesLater } from './wake-ups.ts';

/** How much of Claude's last words is kept of a phase, in characters. */
const MAX_RESULT_LENGTH = 50_000;

type Begun = Pick<Stage, 'title' | 'prompt' | 'pipeline'>;

/** Returns the first message of a stage: its prompt, then the prompt of its first phase, unless that has the stage's in it. */
export function firstPrompt(stage: Begun): string {
  const [first] = stage.pipeline;
  if (first === undefined) return stage.prompt;
  const rendered = renderTemplate(first.prompt, valuesOf(stage));
  return usesName(first.prompt, 'stage.prompt') ? rendered : `${stage.prompt}\n\n${rendered}`;
}

const valuesOf = ({ title, prompt }: Begun, result = '', output = ''): TemplateValues => ({
  'stage.title': title,
  'stage.prompt': prompt,
  'previous.result': result,
  'check.output': output,
});

/** Returns the permission mode that a stage begins in. */
export const firstMode = ({ permissionMode, pipeline }: Pick<Stage, 'permissionMode' | 'pipeline'>): string =>
  pipeline[0]?.permissionMode ?? permissionMode;

/** Records that the first phase begins, with what is sent to Claude. */
export async function noteFirstPhase(tx: Tx, stage: Stage): Promise<void> {
  const [first] = stage.pipeline;
  if (first !== undefined) await addPhaseRun(tx, stage, { index: 0, phase: first, prompt: firstPrompt(stage) });
}

async function addPhaseRun(
  tx: Tx,
  { id: stageId }: Stage,
  { index, phase, prompt }: { index: number; phase: Phase; prompt: string },
): Promise<void> {
  const { name } = phase;
  await tx.phaseRuns.insert({
    stageId,
    phaseIndex: index,
    phase: name,
    prompt,
    begunAt: tx.now,
    result: null,
    endedAt: null,
  });
}

/**
 * Continues the pipeline of a session that has become idle with nothing queued: if its phase succeeded, its check is due, or the
 * next phase begins, or waits at a gate for a person. Does nothing for a stage without phases, after the last phase, or while
 * something in the background still works for the phase.
 */
export async function followPipeline(tx: Tx, change: SessionChange): Promise<void> {
  const { record } = change;
  if (record.lastTurn?.outcome !== 'succeeded' || record.alarm !== null || record.terminal !== null) return;
  if (resumesLater(record, tx.now)) return; // Claude ended its turn to go on at a certain time
  if (awaitedTasks(record).length > 0) return;
  const stage = await tx.stages.find(record.stageId);
  const finished = stage?.pipeline[record.phaseIndex];
  if (stage == null || finished === undefined) return;
  if (isReview(finished)) return followInReview(tx, change, stage);
  const check = checkOf(finished.gate);
  const isToDo = check === null ? !record.atGate : record.turnToFollow && !isChecking(record);
  if (!isToDo && !record.turnToFollow) return;
  if ((await tx.outbox.countQueued(record.stageId)) > 0) return;
  if (record.turnToFollow) await storeResult(tx, change);
  if (!isToDo) return;
  if (check === null) await passGate(tx, change, stage);
  else await dueCheck(tx, change, { stage, check, by: null });
}

/**
 * Whether a turn is over after which work begins by itself: a check, a review or the next phase. Nothing is queued.
 */
export async function isPhaseDue(tx: Tx, record: SessionRecord): Promise<boolean> {
  if (record.lastTurn?.outcome !== 'succeeded' || !record.turnToFollow || isChecking(record)) return false;
  if (resumesLater(record, tx.now) || awaitedTasks(record).length > 0) return false;
  const stage = await tx.stages.find(record.stageId);
  const finished = stage?.pipeline[record.phaseIndex];
  if (stage == null || finished === undefined) return false;
  const isToDo = isReview(finished) ? record.review?.state !== 'done' : checkOf(finished.gate) !== null;
  const next = stage.pipeline[record.phaseIndex + 1];
  return isToDo || (next !== undefined && finished.gate !== 'human' && record.openDenial === null);
}

/**
 * Continues after a turn in a phase that is a review: findings were sent to Claude, or a person wrote. A review without a result is
 * due again; after one with a result, the phase is finished.
 */
async function followInReview(tx: Tx, change: SessionChange, stage: Stage): Promise<void> {
  if (!change.record.turnToFollow || isChecking(change.record)) return;
  if ((await tx.outbox.countQueued(stage.id)) > 0) return;
  change.record = { ...change.record, turnToFollow: false };
  if (change.record.review?.state === 'done') await passGate(tx, change, stage);
  else await dueSideRun(tx, change, { kind: 'review', by: null, isOfPhase: true });
}

/** Keeps Claude's last words of the phase. */
async function storeResult(tx: Tx, change: SessionChange): Promise<void> {
  change.record = { ...change.record, turnToFollow: false };
  const run = await tx.phaseRuns.newest(change.record.stageId);
  if (run === null || run.phaseIndex !== change.record.phaseIndex) return;
  const entries = await newestEntries(tx, change);
  const said = entries.findLast((entry) => entry.kind === 'text' && entry.parentToolUseId === null);
  const isOfPhase = said !== undefined && said.at >= run.begunAt;
  const result = isOfPhase && said.kind === 'text' ? truncate(said.text, MAX_RESULT_LENGTH) : run.result;
  await tx.phaseRuns.setNewest({ ...run, result, endedAt: tx.now });
}

/** Goes on after the phase whose gate is passed, if there is another one: at once, or when a person says so. */
export async function passGate(tx: Tx, change: SessionChange, stage: Stage): Promise<void> {
  const { record } = change;
  const finished = stage.pipeline[record.phaseIndex];
  const next = stage.pipeline[record.phaseIndex + 1];
  if (finished === undefined || next === undefined) return;
  if (finished.gate === 'human' || record.openDenial !== null) {
    change.record = { ...record, atGate: true };
    const denied =
      record.openDenial === null
        ? ''
        : `, but ${record.openDenial.isDeferred ? 'a hook deferred' : 'Claude Code denied'} its last tool call`;
    notePhase(tx, change, `Phase "${finished.name}" is finished${denied}. "${next.name}" begins when you start it.`);
  } else {
    await beginPhase(tx, change, { stage, phase: next });
  }
}

const hasResult = (state: CheckState | undefined): boolean =>
  state === 'passed' || state === 'failed' || state === 'timed-out';

/** Returns the values for a template of the phase after the current one, or for a message about its check. */
export async function templateValues(tx: Tx, change: SessionChange, stage: Stage): Promise<TemplateValues> {
  const run = await tx.phaseRuns.newest(stage.id);
  const check = await currentCheck(tx, change);
  return valuesOf(stage, run?.result ?? '', hasResult(check?.state) ? check?.output : '');
}

/** Begins the next phase: puts its mode and then its prompt into the outbox. */
export async function beginPhase(
  tx: Tx,
  change: SessionChange,
  { stage, phase }: { stage: Stage; phase: Phase },
): Promise<void> {
  const { stageId, launchId, mode } = change.record;
  const row = { stageId, actor: null, createdAt: tx.now };
  const prompt = renderTemplate(phase.prompt, await templateValues(tx, change, stage));
  const wished = isReview(phase) ? mode : (phase.permissionMode ?? mode);
  if (launchId !== null && wished !== mode) {
    const request = { subtype: 'set_permission_mode', mode: wished };
    await tx.outbox.insert({
      ...row,
      id: tx.newId(),
      launchId,
      wireId: tx.newWireId(),
      body: { kind: 'control', request },
    });
  }
  const index = change.record.phaseIndex + 1;
  change.record = {
    ...change.record,
    phaseIndex: index,
    atGate: false,
    check: null,
    review: null,
    turnToFollow: false,
    mode: launchId === null ? wished : mode,
  };
  notePhase(tx, change, `Phase "${phase.name}" started.`);
  if (isReview(phase)) {
    await addPhaseRun(tx, stage, { index, phase, prompt });
    await dueSideRun(tx, change, { kind: 'review', by: null, isOfPhase: true });
    return;
  }
  tx.syncFirst(); // otherwise a power cut could make its prompt again, under an id that Claude does not know
  if (phase.conversation === 'fresh') await clearConversation(tx, change);
  const message = { ...row, id: tx.newId(), launchId: null, wireId: tx.newWireId() };
  await tx.outbox.insert({ ...message, body: textMessage(prompt) });
  await addPhaseRun(tx, stage, { index, phase, prompt });
  await deliverNext(tx, change);
}

/** Lets the next message begin a new conversation, in the same process if there is one. */
async function clearConversation(tx: Tx, change: SessionChange): Promise<void> {
  const { stageId, launchId } = change.record;
  if (launchId === null) {
    change.record = { ...change.record, sessionId: null, forkOf: null };
    return;
  }
  const row = { stageId, actor: null, createdAt: tx.now, id: tx.newId(), launchId: null, wireId: tx.newWireId() };
  const clear = { text: '/clear', attachments: [], isCommand: true, attachesFiles: false };
  await tx.outbox.insert({ ...row, body: messageBody(clear) });
}

function notePhase(tx: Tx, change: SessionChange, text: string): void {
  addNotice(change, tx.now, { level: 'info', code: 'phase', text });
}
