import { join } from 'node:path';
import {
  CONTINUE_MESSAGE,
  isChecking,
  LaunchId,
  type MachineId,
  MessageId,
  type PermissionRule,
  type Stage,
  type StageId,
} from '@callboard/contract';
import { Rejection } from '../../lib/errors.ts';
import type { Platform } from '../../platform/runtime.ts';
import { type MessageRow, type SessionRecord, textMessage } from '../../store/records.ts';
import { requireStage, type Tables, type Tx } from '../../store/store.ts';
import type { LaunchConversation } from '../claude/launch-options.ts';
import { saveChange } from '../session/change-session.ts';
import { continueElsewhere, takeOver } from '../session/end-launch.ts';
import { deliver, makeUrgent } from '../session/message-delivery.ts';
import { firstMessage, newSession } from '../session/new-session.ts';
import { noteFirstPhase } from '../session/pipeline.ts';
import { requireNoAlarm } from '../session/requests.ts';
import { noteFork, requireNotInTerminal, requireNotRewinding } from '../session/rewind-rules.ts';
import { addNotice, type SessionChange } from '../session/session-change.ts';

/** A launch that is committed and not yet spawned. */
export interface BegunLaunch {
  stageId: StageId;
  launchId: LaunchId;
  folder: string;
  /** The control request whose reply says that the process is up. */
  initializeId: string;
  conversation: LaunchConversation;
  permissionMode: string;
  model: string | null;
  effort: string | null;
  rules: PermissionRule[];
  /** A new worktree begins at what the repository has, although a fetch is wished. */
  withoutFetch?: boolean;
}

export interface BeginDeps {
  platform: Platform;
  dataDir: string;
  claims?: Claims | undefined;
}

/** Lets this machine alone start a stage. */
export interface Claims {
  /** Null: one machine has everything. */
  readonly here: MachineId | null;
  /** Claims the stage for this machine. @throws Rejection `already_running`; OperationalError `lease_lost` */
  claim(tx: Tx, stage: Stage): Promise<Stage>;
}

/** One machine has every stage. */
export const ALL_CLAIMED: Claims = { here: null, claim: async (_tx, stage) => stage };

export interface LaunchRequest {
  stageId: StageId;
  /** Who wants it; null: Callboard. */
  actor: string | null;
  /** What to work on, ahead of the queue. Without it, the first row of the queue, or the stage's prompt. */
  message?: MessageRow | undefined;
  /** No spent budget keeps it from its next turn. */
  beyondBudget?: boolean;
}

/**
 * Commits the intent to launch before anything is spawned: the launch row, `initialize` as the first row of its outbox,
 * and its work. Messages that a process received and did not save before it died go first, before `message`.
 * @throws Rejection `unknown_stage`, `already_done`, `session_alarm`, `in_terminal`, `already_running`, `waits_for_dependency`, `disk_low`
 */
export async function beginLaunch(
  tx: Tx,
  { platform, dataDir, claims = ALL_CLAIMED }: BeginDeps,
  { stageId, actor, message, beyondBudget = false }: LaunchRequest,
): Promise<BegunLaunch> {
  const wanted = await requireStage(tx, stageId);
  const found = await tx.sessions.find(stageId);
  await requireStartable(tx, wanted, found);
  const taken = await takeOver(tx, wanted, claims.here);
  const stage = await claims.claim(tx, taken.stage);
  const launchId = LaunchId.parse(platform.newId());
  const folder = join(dataDir, 'sessions', stageId, launchId);
  await tx.launches.insert({ id: launchId, stageId, folder, createdAt: tx.now });
  const initializeId = platform.newWireId();
  const ask = (subtype: string, wireId: string) => {
    const row = { id: tx.newId(), stageId, launchId, wireId, actor: null, createdAt: tx.now };
    return tx.outbox.insert({ ...row, body: { kind: 'control', request: { subtype } } });
  };
  await ask('initialize', initializeId);
  const known = found ?? newSession(stage, tx.now);
  const before = taken.isElsewhere ? { ...known, ...NEW_CONVERSATION } : known;
  // A new conversation has cost nothing yet. The count of a process that died is lost, so the next one is asked for its
  // starting count before it is given anything that costs.
  const isNew = before.sessionId === null;
  const costCounted = isNew ? 0 : before.costCounted;
  const tokensCounted = isNew ? 0 : before.tokensCounted;
  if (costCounted === null) await ask('get_usage', platform.newWireId());
  const startedAt = found?.startedAt ?? tx.now;
  const change: SessionChange = {
    before,
    record: {
      ...before,
      costCounted,
      tokensCounted,
      launchState: 'starting',
      launchId,
      startedAt,
      ...(beyondBudget && { beyondBudget, spentBudget: null }),
    },
    entries: [],
    queueChanged: false,
    delivered: [],
  };
  if (found === null) noteFork(change, tx.now, stage);
  const isMoved = taken.isElsewhere && found !== null;
  if (isMoved) await notifyElsewhere(tx, platform, change, { stage, actor, message });
  else if (await repeatLostMessages(tx, change)) {
    // One at a time: the CLI would fold the next message into the repeated turn.
    const next = message ?? (await tx.outbox.queueOf(stageId))[0];
    if (next !== undefined) await makeUrgent(tx, change, next);
  } else if (message === undefined) await giveWork(tx, platform, change, { stage, actor, isFirst: found === null });
  else await deliver(tx, change, message);
  await stopAwaitingRoom(tx, stageId);
  await saveChange(tx, change);
  const { sessionId, forkOf, mode, effort } = change.record;
  return {
    stageId,
    launchId,
    folder,
    initializeId,
    permissionMode: mode,
    model: stage.model,
    effort,
    conversation: sessionId === null ? { ...forkOf, start: platform.newWireId() } : { resume: sessionId },
    rules: await tx.rules.listFor(stage.projectId, stageId, tx.now),
  };
}

/** What a session is without the conversation and the worktree of its lost machine. */
const NEW_CONVERSATION = { sessionId: null, forkOf: null, promptBlocked: null, contextUsage: null, changes: null };

/** Gives a new conversation what it has to know, ahead of the queue. */
async function notifyElsewhere(
  tx: Tx,
  platform: Platform,
  change: SessionChange,
  { stage, actor, message }: { stage: Stage; actor: string | null; message: MessageRow | undefined },
): Promise<void> {
  const page = await tx.transcript.page(stage.id, { after: undefined, before: undefined, limit: 200 });
  const said = page.flatMap((entry) => (entry.kind === 'text' && entry.parentToolUseId === null ? [entry.text] : []));
  const wireId = platform.newWireId();
  const row = { id: tx.newId(), stageId: stage.id, launchId: null, wireId, actor, createdAt: tx.now };
  await tx.outbox.insert({ ...row, body: textMessage(continueElsewhere(stage, said)) });
  const reported = await tx.outbox.findQueued(stage.id, MessageId.parse(wireId));
  if (reported === null) throw new Error(`the first message of ${stage.id} is gone`);
  if (message !== undefined) await makeUrgent(tx, change, message);
  await deliver(tx, change, reported);
}

/** Messages that waited for room on the disk are now in the queue of a running session, so they must not resume it again. */
async function stopAwaitingRoom(tx: Tx, stageId: StageId): Promise<void> {
  for (const { id, body } of await tx.outbox.queueOf(stageId)) {
    if (body.awaitsRoom) await tx.outbox.setBody(id, { ...body, awaitsRoom: false });
  }
}

/**
 * Gives the launch, under their old ids, the messages of the interrupted turn that the conversation lacks.
 * @returns whether there were any
 */
async function repeatLostMessages(tx: Tx, change: SessionChange): Promise<boolean> {
  const { launchId, turnMessages } = change.record;
  if (turnMessages.length === 0) return false;
  for (const id of turnMessages) await tx.outbox.assign(id, launchId);
  change.record = { ...change.record, turnMessages: [], turnRunning: true };
  const text =
    'Claude Code ended before it had saved the last messages, so Callboard sends them again. What it had done by then stands; Claude does not know of it and may do it again.';
  addNotice(change, tx.now, { level: 'info', code: 'told-again', text });
  return true;
}

async function giveWork(
  tx: Tx,
  platform: Platform,
  change: SessionChange,
  { stage, actor, isFirst }: { stage: Stage; actor: string | null; isFirst: boolean },
): Promise<void> {
  const queue = await tx.outbox.queueOf(stage.id);
  if (queue.length === 0) {
    const wasCutOff = change.record.lastTurn !== null && change.record.lastTurn.outcome !== 'succeeded';
    if (!isFirst && !wasCutOff) return; // it comes up idle, ready for a message
    const id = tx.newId();
    const row = { id, stageId: stage.id, launchId: null, wireId: platform.newWireId(), actor, createdAt: tx.now };
    if (isFirst) await noteFirstPhase(tx, stage);
    await tx.outbox.insert({ ...row, body: isFirst ? await firstMessage(tx, stage) : textMessage(CONTINUE_MESSAGE) });
  }
  // A person asked the session to continue, so the first row goes even if the queue is held.
  const [row] = await tx.outbox.queueOf(stage.id);
  if (row !== undefined) await deliver(tx, change, row);
}

/**
 * Checks that a launch of the stage may begin now.
 * @param session null for a stage that was never started; only such a stage waits for its dependencies
 * @throws Rejection `already_done`, `session_alarm`, `in_terminal`, `already_running`, `waits_for_dependency`, `disk_low`
 */
async function requireStartable(tx: Tx, stage: Stage, session: SessionRecord | null): Promise<void> {
  if (stage.completedAt !== null)
    throw new Rejection('already_done', `${stage.id} is done. Reopen it, or send it a message.`);
  requireNoAlarm(session);
  requireNotInTerminal(session);
  requireNotRewinding(session);
  if (session !== null && isChecking(session))
    throw new Rejection('already_running', `A check of ${stage.id} is running. Stop it, or wait for its result.`);
  if (session !== null && session.launchId !== null)
    throw new Rejection('already_running', notAgainReason(stage, session));
  if (session === null) await requireDependenciesDone(tx, stage);
  const diskPauseReason = tx.diskPauseReason();
  if (diskPauseReason !== null) throw new Rejection('disk_low', diskPauseReason);
}

function notAgainReason({ id, pipeline }: Stage, { atGate, phaseIndex, state }: SessionRecord): string {
  if (!atGate) return `${id} is already running (${state}).`;
  const finished = pipeline[phaseIndex];
  const next = pipeline[phaseIndex + 1];
  const phases =
    finished && next ? `: "${finished.name}" is finished, and "${next.name}" begins when you start it` : '';
  return `${id} is already running, and its next phase waits for you${phases}. Start that phase instead.`;
}

/** How many open dependencies are named. */
const NAMED = 3;

/** Fails closed: a stage that does not exist is not done. */
async function requireDependenciesDone(tx: Tables, { id, dependsOn }: Stage): Promise<void> {
  const found = await Promise.all(dependsOn.map(async (other) => ({ other, stage: await tx.stages.find(other) })));
  const open = found.filter(({ stage }) => stage === null || stage.completedAt === null);
  if (open.length === 0) return;
  const named = open
    .slice(0, NAMED)
    .map(({ other, stage }) => (stage === null ? `${other} (which does not exist)` : `${other} (${stage.title})`));
  const more = open.length > NAMED ? [`${open.length - NAMED} more`] : [];
  const list = new Intl.ListFormat('en', { type: 'conjunction' }).format([...named, ...more]);
  const advice =
    open.length === 1
      ? 'Complete that one first, or remove it from "Depends on".'
      : 'Complete those first, or remove them from "Depends on".';
  throw new Rejection('waits_for_dependency', `${id} waits for ${list}, not done yet. ${advice}`);
}
