import {
  isActive,
  isChecking,
  isReviewing,
  type LaunchId,
  type LostOn,
  type MachineId,
  type Stage,
  type StageId,
  type TurnOutcome,
  type Worktree,
} from '@callboard/contract';
import type { LaunchRecord, MessageRow, OutboxRow, SessionRecord } from '../../store/records.ts';
import type { Tx } from '../../store/store.ts';
import { loseWakeUps, noteEnded } from './background-tasks.ts';
import { changeSession } from './change-session.ts';
import { type FoundMessages, isInConversation } from './message-delivery.ts';
import { giveUpSideRun, stopCheck } from './pipeline.ts';
import { closeRequest, loseAnswer, requestOf, setDelivery } from './requests.ts';
import { addNotice, type SessionChange } from './session-change.ts';
import { spendUnfinished } from './spending-limits.ts';

/** Why a launch ended. */
export type LaunchEnd =
  /** A person ended it, or Callboard on behalf of one. */
  | {
      kind: 'stopped';
      reason: string;
      /** It may have been killed before it could save what it had counted. */
      isKilled?: true;
      /** What keeps it from going on until a person does something about it. */
      code?: TurnOutcome['code'];
    }
  /** It ended on its own, or something killed it. */
  | { kind: 'died'; reason: string; wasWatched: boolean }
  /** It never came up. `isBegunAgain`: nothing had run, and the caller begins another launch in the same transaction. */
  | { kind: 'not-started'; reason: string; code?: TurnOutcome['code']; isBegunAgain?: true };

/** The end of a launch while a transaction settles it. */
interface Ending {
  tx: Tx;
  change: SessionChange;
  end: LaunchEnd;
  /** Which of `unconfirmedMessages` were found in the conversation: they are not sent again. */
  found: FoundMessages;
}

/**
 * Settles everything that depended on an ended process: closes its open requests, returns unread messages to the
 * queue (under their old ids, because the CLI knows what it has read, even after a resume), and records the fate of
 * answers that it did not confirm. Writes nothing to another process.
 * @param found which of `unconfirmedMessages` were found in the conversation
 */
export async function endLaunch(
  tx: Tx,
  { id: launchId, stageId }: Pick<LaunchRecord, 'id' | 'stageId'>,
  end: LaunchEnd,
  found: FoundMessages = null,
): Promise<void> {
  await tx.launches.setEnded(launchId, tx.now, end.reason);
  await changeSession(tx, stageId, async (change) => {
    if (change.record.launchId !== launchId) return; // a later launch has taken over
    const ending = { tx, change, end, found };
    for (const request of await tx.requests.listOpenOf(stageId)) await closeRequest(tx, change, request, end.reason);
    const lacking = await notInConversation(ending, change.record.turnMessages);
    // A turn that a person ended is not started again.
    const isForPause = change.record.holdInterrupt !== null; // it goes on when it is released
    const ended = isForPause ? [] : await sentBeforeAnInterrupt(tx, launchId, lacking);
    const givenUp = end.kind === 'stopped' ? lacking : ended;
    for (const row of await tx.outbox.listOf(launchId, ['accepted', 'written'])) await settleRow(ending, row);
    const turnMessages = lacking.filter((row) => !givenUp.includes(row)).map(({ id }) => id);
    const forgotten = end.kind === 'died' ? await notInConversation(ending, change.record.lastTurnMessages) : [];
    // A turn that a usage limit refused goes on later: the next launch is told its messages again.
    const toRepeat = change.record.limitWait === null || found === null ? [] : forgotten.filter(isWrittenDown);
    const repeated = [...turnMessages, ...toRepeat.map(({ id }) => id)];
    change.record = { ...change.record, turnMessages: repeated, lastTurnMessages: [], joinedMessages: [] };
    await spendUnfinished(tx, change);
    endSession(ending);
    if (found === null) return; // the conversation could not be read
    const unknown = givenUp.filter(isWrittenDown);
    if (unknown.length > 0) addUnknown(ending, unknown);
    if (toRepeat.length === 0 && forgotten.some(isWrittenDown)) addForgotten(ending);
  });
}

/** The CLI does not record commands as messages. */
const isWrittenDown = (row: OutboxRow): row is MessageRow => row.body.kind === 'message' && !row.body.isCommand;

/** Returns the rows that the process had when it was last asked to end its turn, whether or not it did. */
async function sentBeforeAnInterrupt(tx: Tx, launchId: LaunchId, rows: OutboxRow[]): Promise<OutboxRow[]> {
  const since = rows.map(({ writtenAt, createdAt }) => writtenAt ?? createdAt).toSorted()[0];
  if (since === undefined) return [];
  const controls = await tx.outbox.controlsSince(launchId, since);
  const [newest] = controls.filter(({ body }) => body.kind === 'control' && body.request.subtype === 'interrupt');
  return newest === undefined ? [] : rows.filter((row) => (row.writtenAt ?? row.createdAt) <= newest.createdAt);
}

async function notInConversation({ tx, change, found }: Ending, ids: readonly string[]): Promise<OutboxRow[]> {
  const { record } = change;
  const rows = await Promise.all(ids.map((id) => tx.outbox.find(id)));
  return rows.filter((row) => row !== null).filter((row) => !isInConversation(row, record, found));
}

/** How many characters of a message are quoted. */
const QUOTED = 200;

function addUnknown({ tx, change }: Ending, rows: readonly MessageRow[]): void {
  const quoted = rows.map(({ body: { text } }) => `"${text.length > QUOTED ? `${text.slice(0, QUOTED)}...` : text}"`);
  const [which, it] = rows.length === 1 ? ['this message', 'it'] : ['these messages', 'them'];
  const text = `Claude does not know of ${which}: ${quoted.join(', ')}. Its process ended before it had saved ${it}, and the turn was ended on request, so Callboard does not send ${it} again. Whatever was done by then stands. Send ${it} again if you still want that.`;
  addNotice(change, tx.now, { level: 'warning', code: 'message-unknown', text });
}

/** Says that Claude lacks a turn. The turn is not repeated, because its effects stand. */
function addForgotten({ tx, change }: Ending): void {
  const text =
    'Claude Code ended before it had saved its last turn. What that turn did stands, but Claude will not know of it when the session is resumed: tell it what it needs to know.';
  addNotice(change, tx.now, { level: 'warning', code: 'turn-forgotten', text });
}

async function settleRow({ tx, change, end, found }: Ending, row: OutboxRow): Promise<void> {
  switch (row.kind) {
    case 'message':
      if (isInConversation(row, change.record, found)) return tx.outbox.setConfirmed(row.id, tx.now);
      await tx.outbox.assign(row.id, null);
      change.queueChanged = true;
      return;
    case 'control':
      await tx.outbox.setVoid(row.id, end.reason);
      return;
    case 'answer':
      await tx.outbox.setVoid(row.id, end.reason);
      return settleAnswer(tx, row, end);
    default:
      return row.kind satisfies never;
  }
}

async function settleAnswer(tx: Tx, row: OutboxRow, end: LaunchEnd): Promise<void> {
  // If nobody watched the process, the answer may have been written without a mark.
  const isUnwritten = row.state === 'accepted' && (end.kind !== 'died' || end.wasWatched);
  if (!isUnwritten) {
    const trace = { writtenAt: row.writtenAt, endedAt: tx.now, endReason: end.reason };
    return loseAnswer(tx, row, { ended: 'process', ...trace });
  }
  const stored = await requestOf(tx, row);
  if (stored !== null) await setDelivery(tx, stored, 'not-applied');
}

/** A process saves its count when it ends in peace. What it counted in a turn that it could not finish is not known here. */
const isCountSaved = ({ turnRunning }: SessionRecord, end: LaunchEnd): boolean =>
  end.kind === 'not-started' || (end.kind === 'stopped' && end.isKilled !== true && !turnRunning);

function endSession({ tx, change, end }: Ending): void {
  loseWakeUps(change, tx.now);
  noteEnded(change, tx.now, change.record.backgroundTasks);
  const { record } = change;
  const wasActive = isActive(change.before.state) && !isChecking(change.before); // a check needs no process of Claude
  const gone = {
    ...record,
    launchId: null,
    turnRunning: false,
    turnBegun: false,
    backgroundTasks: [],
    mcpServers: [],
    agents: {},
    taskStarts: {},
    reports: [],
    blocks: {},
    running: [],
    hostGrants: {},
    openHosts: null,
    wakeUps: record.wakeUps.filter(({ isDurable }) => isDurable),
    wakeUpMessages: [],
    lastAction: null,
    stalledSince: null,
    beyondBudget: end.kind === 'not-started' && end.isBegunAgain === true && record.beyondBudget,
    ...(isCountSaved(record, end) ? {} : { costCounted: null, tokensCounted: null }),
  };
  const text = end.reason;
  if (end.kind === 'not-started' && end.isBegunAgain) {
    change.record = { ...gone, launchState: 'ended' };
    addNotice(change, tx.now, { level: 'info', code: 'begun-again', text });
    return;
  }
  if (end.kind === 'not-started') {
    const lastTurn = { outcome: 'failed', at: tx.now, message: text, code: end.code ?? null } as const;
    change.record = { ...gone, launchState: 'failed', lastTurn, queueHeld: true };
    addNotice(change, tx.now, { level: 'error', code: 'launch-failed', text });
    return;
  }
  change.record = { ...gone, launchState: 'ended' };
  if (end.kind === 'stopped' && end.code != null) {
    failTurn(change, tx.now, { message: text, code: end.code });
    change.record = { ...change.record, launchState: 'failed' };
    return;
  }
  if (wasActive) {
    change.record.lastTurn = { outcome: 'interrupted', at: tx.now, message: text, code: null };
    // A process that died before it had followed the interrupt for a hold.
    const isForPause = end.kind === 'died' && record.holdInterrupt === 'asked';
    change.record.queueHeld = !isForPause;
    change.record.holdInterrupt = isForPause ? 'interrupted' : null;
  }
  if (wasActive || end.kind === 'died')
    addNotice(change, tx.now, { level: end.kind === 'died' ? 'warning' : 'info', code: 'process-ended', text });
}

/** Notes why a turn could not go on or begin. What is queued waits for a person. */
function failTurn(change: SessionChange, now: Tx['now'], turn: Pick<TurnOutcome, 'message' | 'code'>): void {
  const isNoted = change.record.lastTurn?.code === turn.code;
  change.record = {
    ...change.record,
    lastTurn: { outcome: 'failed', at: now, message: turn.message, code: turn.code },
    queueHeld: true,
  };
  if (!isNoted) addNotice(change, now, { level: 'error', code: 'launch-failed', text: turn.message ?? '' });
}

/**
 * Takes back the messages that a process has not been given, because it must not work on them. They wait in the queue for a person. The
 * caller ends the process.
 */
export async function takeBackUnwritten(
  tx: Tx,
  { id: launchId, stageId }: Pick<LaunchRecord, 'id' | 'stageId'>,
  why: { message: string; code: TurnOutcome['code'] },
): Promise<void> {
  await changeSession(tx, stageId, async (change) => {
    if (change.record.launchId !== launchId) return;
    for (const row of await tx.outbox.listOf(launchId, ['accepted']))
      if (row.kind === 'message') await tx.outbox.assign(row.id, null);
    change.queueChanged = true;
    change.record = { ...change.record, turnRunning: false };
    failTurn(change, tx.now, why);
  });
}

/** Which machine was lost, and who declared it. */
export type Loss = Omit<LostOn, 'worktree'>;

/**
 * Takes a stage from a lost machine: closes its open requests, ends what ran there as far as the store is concerned, and lets
 * nothing go on by itself. A person starts it, wherever its repository is.
 */
export async function loseStage(tx: Tx, stage: Stage, loss: Loss): Promise<void> {
  const lost: LostOn = { ...loss, worktree: stage.worktree };
  const updated: Stage = { ...stage, machineId: null, worktree: null, setup: null, lost, updatedAt: tx.now };
  await tx.stages.update(updated);
  await tx.emit({ type: 'stage-updated', data: { stageId: stage.id, stage: updated } });
  await noteOrphaned(tx, stage, loss.machineId);
  await tx.mergeIntents.remove(stage.id);
  await endCommands(tx, stage.id, reasonOf(loss));
  const session = await tx.sessions.find(stage.id);
  if (session === null) return;
  if (session.launchId !== null)
    await endLaunch(
      tx,
      { id: session.launchId, stageId: stage.id },
      { kind: 'died', reason: reasonOf(loss), wasWatched: false },
    );
  await changeSession(tx, stage.id, (change) => settle(tx, change, loss, lost));
}

/** Whatever becomes of the stage, the machine finds its worktree by this when it is back: also one that a start had just made. */
async function noteOrphaned(tx: Tx, stage: Stage, machineId: MachineId): Promise<void> {
  const { id, title, projectId, worktree } = stage;
  const project = await tx.projects.find(projectId);
  const places = await tx.projectLocations.list();
  const place = places.find((one) => one.projectId === projectId && one.machineId === machineId);
  await tx.orphanedWorktrees.save({
    machineId,
    stageId: id,
    stageTitle: title,
    projectId,
    projectName: project?.name ?? projectId,
    worktree: worktree ?? firstChoice(stage),
    isRecorded: worktree !== null,
    repository: place?.path ?? null,
    isKept: false,
    isTaken: false,
    told: null,
  });
}

const firstChoice = ({ id, branch, base }: Stage): Worktree => ({
  path: id,
  branch: branch ?? `callboard/${id}`,
  base: base ?? 'HEAD',
});

const reasonOf = ({ machine, by }: Loss): string => `Interrupted on ${machine}, which ${by} declared lost.`;

async function settle(tx: Tx, change: SessionChange, loss: Loss, { worktree }: LostOn): Promise<void> {
  const reason = reasonOf(loss);
  const wasChecking = isChecking(change.record);
  if (wasChecking) await stopCheck(tx, change, reason);
  const wasReviewing = isReviewing(change.record);
  for (const run of await tx.sideRuns.listOf(change.record.stageId)) {
    if (run.state === 'waiting' || run.state === 'running')
      await giveUpSideRun(tx, change, run, { state: 'interrupted', reason });
  }
  const gate = wasChecking || wasReviewing ? { atGate: true } : {};
  change.record = { ...change.record, ...NOTHING_GOES_ON, ...gate };
  const branch = worktree === null ? '' : ` from ${worktree.branch} as it was last pushed`;
  addNotice(change, tx.now, {
    level: 'warning',
    code: 'machine-lost',
    text: `${reason} Processes there may go on until it comes back. The stage can be started on another machine${branch}. Its conversation is in the home folder of ${loss.machine}: elsewhere Claude begins a new one.`,
  });
}

/** What the next launch would have gone on with, on the machine that is lost. */
const NOTHING_GOES_ON: Partial<SessionRecord> = {
  queueHeld: true,
  turnMessages: [],
  lastTurnMessages: [],
  joinedMessages: [],
  holdInterrupt: null,
  limitWait: null,
  terminal: null,
  goingBack: null,
  isGoingBack: false,
  undo: null,
};

async function endCommands(tx: Tx, stageId: StageId, reason: string): Promise<void> {
  for (const command of await tx.worktreeCommands.listOf(stageId)) {
    if (command.state !== 'running') continue;
    const ended = { ...command, state: 'interrupted' as const, reason, endedAt: tx.now };
    await tx.worktreeCommands.update(ended);
    await tx.emit({ type: 'worktree-command-updated', data: ended });
  }
}

/** What a start has to know of a stage whose machine was lost. */
export interface TakenOver {
  stage: Stage;
  /** Claude has no conversation here, so it is told what the stage is about. */
  isElsewhere: boolean;
}

/** Prepares the start of a stage whose machine was lost. The machine that comes back goes on with its worktree and conversation. */
export async function takeOver(tx: Tx, stage: Stage, here: MachineId | null): Promise<TakenOver> {
  const { lost } = stage;
  if (lost === null) return { stage, isElsewhere: false };
  const isElsewhere = lost.machineId !== here;
  // `lost` stays until the worktree is there: it names the branch to begin at.
  const updated: Stage = isElsewhere ? stage : { ...stage, worktree: lost.worktree, lost: null, updatedAt: tx.now };
  if (!isElsewhere) {
    await tx.stages.update(updated);
    await tx.emit({ type: 'stage-updated', data: { stageId: stage.id, stage: updated } });
  }
  return { stage: updated, isElsewhere };
}

/** How much of what Claude said last the new conversation is told. */
const QUOTED_AFTER_LOSS = 6_000;

/** Returns the first message of a stage that goes on elsewhere. @param said what Claude said last, the newest last */
export function continueElsewhere({ prompt, lost }: Pick<Stage, 'prompt' | 'lost'>, said: readonly string[]): string {
  const branch = lost?.worktree?.branch;
  const files =
    branch === undefined
      ? 'No branch of it was known'
      : `The files here are those of the branch ${branch} as it was pushed last, if it was; look at git log first`;
  const text = said.join('\n\n').slice(-QUOTED_AFTER_LOSS);
  const quoted = text === '' ? '' : `\n\nWhat you said last there:\n\n${text}`;
  return `${prompt}\n\n---\nThis work was begun on another machine (${lost?.machine ?? 'unknown'}), which is lost, in a conversation that you do not have here. ${files}. Find out what is done already, and go on from there.${quoted}`;
}
