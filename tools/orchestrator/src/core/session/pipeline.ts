import {
  awaitedTasks,
  type Check,
  type CheckState,
  checkOf,
  isChecking,
  isReview,
  isReviewing,
  type Phase,
  renderTemplate,
  type SideRun,
  type SideRunKind,
  type Stage,
  type StageReview,
  type TemplateValues,
  usesName,
} from '@callboard/contract';
import { truncate } from '../../lib/text.ts';
import { type CheckRecord, messageBody, type SessionRecord, textMessage } from '../../store/records.ts';
import { requireStage, type Tx } from '../../store/store.ts';
import { resumesLater } from './background-tasks.ts';
import { deliverNext } from './message-delivery.ts';
import { addNotice, type Notice, newestEntries, type SessionChange } from './session-change.ts';

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

/** Sets the state of a check, in its own row and in its session. */
export async function setCheck(tx: Tx, change: SessionChange, run: CheckRecord): Promise<void> {
  await tx.checks.save(run);
  const { id: checkId, state, command, failures, attempts } = run;
  change.record = { ...change.record, check: { checkId, state, command, failures, attempts, since: tx.now } };
}

/** What a check is run for. */
interface CheckedPhase {
  stage: Stage;
  check: Check;
  /** Who asks for it; null: Callboard, after a turn. */
  by: string | null;
}

/** Makes a check of the session's phase due. It is run when this is committed. */
export async function dueCheck(tx: Tx, change: SessionChange, { stage, check, by }: CheckedPhase): Promise<void> {
  const { stageId, phaseIndex } = change.record;
  change.record = { ...change.record, atGate: false, turnToFollow: false };
  await setCheck(tx, change, {
    id: tx.newId(),
    stageId,
    phaseIndex,
    phase: stage.pipeline[phaseIndex]?.name ?? '',
    command: check.command,
    timeLimit: check.timeLimit,
    attempts: check.attempts,
    state: 'waiting',
    by,
    failures: change.record.check?.failures ?? 0,
    createdAt: tx.now,
    startedAt: null,
    endedAt: null,
    exitCode: null,
    reason: null,
    commandId: null,
    messageId: null,
    output: '',
  });
}

/** Returns the session's newest check; null if it has none. */
export async function currentCheck(tx: Tx, { record }: SessionChange): Promise<CheckRecord | null> {
  return record.check === null ? null : tx.checks.find(record.check.checkId);
}

/** Ends a check without a result. @param reason a whole sentence */
export async function giveUpCheck(
  tx: Tx,
  change: SessionChange,
  run: CheckRecord,
  { state, reason }: { state: CheckState; reason: string },
): Promise<void> {
  await setCheck(tx, change, { ...run, state, reason, endedAt: tx.now });
  noteCheck(
    tx,
    change,
    state === 'not-started' ? 'error' : 'info',
    `The check of "${run.phase}" has no result: ${reason}`,
  );
}

/**
 * Stops the check, or Claude's review, of a session's phase if one is due or runs; whoever runs it ends its processes when this is committed. Returns whether
 * there was one.
 */
export async function stopCheck(tx: Tx, change: SessionChange, reason: string): Promise<boolean> {
  if (await stopReview(tx, change, reason)) return true;
  if (!isChecking(change.record)) return false;
  const run = await currentCheck(tx, change);
  if (run !== null) await giveUpCheck(tx, change, run, { state: 'stopped', reason });
  return true;
}

/** Adds a notice about a check to the transcript. */
export const noteCheck = (tx: Tx, change: SessionChange, level: Notice['level'], text: string): void =>
  addNotice(change, tx.now, { level, code: 'check', text });

/** Stores a run and tells it; one for the session's phase is shown in the session as well. */
export async function setSideRun(tx: Tx, change: SessionChange, run: SideRun): Promise<void> {
  await tx.sideRuns.save(run);
  await tx.emit({ type: 'side-run-updated', data: run });
  if (run.phaseIndex === null || run.phaseIndex !== change.record.phaseIndex) return;
  const goesOnAt = run.state === 'waiting' ? (run.limitWait?.goesOnAt ?? null) : null;
  const review: StageReview = { runId: run.id, state: run.state, findings: run.findings, goesOnAt, since: tx.now };
  change.record = { ...change.record, review };
}

/** What Claude is asked, and for whom. */
export interface SideOrder {
  kind: SideRunKind;
  /** Null: Callboard, for a phase. */
  by: string | null;
  /** It is the work of the session's phase. */
  isOfPhase: boolean;
}

/** Makes a run due. It is begun when this is committed. */
export async function dueSideRun(tx: Tx, change: SessionChange, { kind, by, isOfPhase }: SideOrder): Promise<SideRun> {
  const { stageId, phaseIndex } = change.record;
  if (isOfPhase) change.record = { ...change.record, atGate: false, turnToFollow: false };
  const run: SideRun = {
    id: tx.newWireId(),
    stageId,
    kind,
    state: 'waiting',
    by,
    phaseIndex: isOfPhase ? phaseIndex : null,
    createdAt: tx.now,
    startedAt: null,
    endedAt: null,
    reason: null,
    diff: null,
    costUsd: null,
    summary: null,
    findings: 0,
    misplaced: [],
    text: null,
    limitWait: null,
  };
  await setSideRun(tx, change, run);
  return run;
}

/** Ends a run without a result. @param reason a whole sentence */
export async function giveUpSideRun(
  tx: Tx,
  change: SessionChange,
  run: SideRun,
  end: Pick<SideRun, 'state' | 'reason'> & { costUsd?: number | null },
): Promise<void> {
  await setSideRun(tx, change, { ...run, ...end, endedAt: tx.now });
  const what = run.kind === 'review' ? 'Claude’s review' : 'The text for the pull request';
  noteSideRun(tx, change, end.state === 'failed' ? 'error' : 'info', `${what} has no result: ${end.reason}`);
}

/** Stops the review of the session's phase if one is due or runs; whoever runs it ends its process. Returns whether there was one. */
async function stopReview(tx: Tx, change: SessionChange, reason: string): Promise<boolean> {
  const { review } = change.record;
  if (review === null || !isReviewing(change.record)) return false;
  const run = await tx.sideRuns.find(review.runId);
  if (run !== null) await giveUpSideRun(tx, change, run, { state: 'stopped', reason });
  else change.record = { ...change.record, review: null };
  return true;
}

/**
 * Lets a person decide how the pipeline goes on after this run, if it is that of the phase. After the last phase the stage is in
 * review anyway.
 */
export async function waitForPerson(tx: Tx, change: SessionChange, { phaseIndex }: SideRun): Promise<void> {
  const { record } = change;
  if (phaseIndex === null || phaseIndex !== record.phaseIndex) return;
  const stage = await requireStage(tx, record.stageId);
  if (stage.pipeline[phaseIndex + 1] !== undefined) change.record = { ...record, atGate: true };
}

/** Adds a notice about a run to the transcript. */
export const noteSideRun = (tx: Tx, change: SessionChange, level: Notice['level'], text: string): void =>
  addNotice(change, tx.now, { level, code: 'review', text });
