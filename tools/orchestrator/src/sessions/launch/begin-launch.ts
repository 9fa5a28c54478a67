import { join } from 'node:path';
import {
  CONTINUE_MESSAGE,
  ISOLATION_UNKNOWN,
  LaunchId,
  type PermissionRule,
  type Stage,
  type StageId,
} from '@callboard/contract';
import { saveChange } from '../../domain/change-session.ts';
import { deliver, makeUrgent } from '../../domain/message-delivery.ts';
import { firstMode, firstPrompt } from '../../domain/pipeline.ts';
import { addEntry, type SessionChange } from '../../domain/session-change.ts';
import type { Edges } from '../../lib/edges.ts';
import { type MessageRow, type SessionRecord, textMessage } from '../../store/records.ts';
import { requireStage } from '../../store/require.ts';
import type { Tx } from '../../store/store.ts';
import { requireStartable } from './require-startable.ts';

/** A launch that is committed and not yet spawned. */
export interface BegunLaunch {
  launchId: LaunchId;
  folder: string;
  /** The control request whose reply says that the process is up. */
  initializeId: string;
  conversation: { resume: string } | { start: string };
  permissionMode: string;
  model: string | null;
  effort: string | null;
  rules: PermissionRule[];
}

export interface BeginParts {
  edges: Edges;
  dataDir: string;
}

/**
 * Commits the intent to launch, before anything is spawned: the launch row, `initialize` as the first row of its
 * outbox, and what it is to work on. With `message` it works on that one, past whatever the queue holds, once it has
 * done what a process that died was told and did not keep.
 * @throws Rejection `unknown_stage`, `already_done`, `session_alarm`, `already_running`, `waits_for_dependency`, `disk_low`
 */
export async function beginLaunch(
  tx: Tx,
  { edges, dataDir }: BeginParts,
  stageId: StageId,
  actor: string | null,
  message?: MessageRow,
): Promise<BegunLaunch> {
  const stage = await requireStage(tx, stageId);
  const found = await tx.sessions.find(stageId);
  await requireStartable(tx, stage, found);
  const launchId = LaunchId.parse(edges.newId());
  const folder = join(dataDir, 'sessions', stageId, launchId);
  await tx.launches.insert({ id: launchId, stageId, folder, createdAt: tx.now });
  const initializeId = edges.newWireId();
  const ask = (subtype: string, wireId: string) => {
    const row = { id: edges.newId(), stageId, launchId, wireId, actor: null, createdAt: tx.now };
    return tx.outbox.insert({ ...row, body: { kind: 'control', request: { subtype } } });
  };
  await ask('initialize', initializeId);
  const before = found ?? newSession(stage, tx.now);
  // A new conversation costs nothing yet; a process that died took along how much it had counted, so the next one is
  // asked from where on it counts, before it is given anything that costs.
  const costCounted = before.sessionId === null ? 0 : before.costCounted;
  if (costCounted === null) await ask('get_usage', edges.newWireId());
  const change: SessionChange = {
    before,
    record: { ...before, costCounted, launchState: 'starting', launchId, startedAt: found?.startedAt ?? tx.now },
    entries: [],
    queueChanged: false,
    delivered: [],
  };
  if (await giveAgain(tx, change)) {
    // One thing at a time: the CLI would fold the next message into the turn that runs again.
    const next = message ?? (await tx.outbox.queueOf(stageId))[0];
    if (next !== undefined) await makeUrgent(tx, change, next);
  } else if (message === undefined) await giveWork(tx, edges, change, stage, actor, found === null);
  else await deliver(tx, change, message);
  await stopAwaitingRoom(tx, stageId);
  await saveChange(tx, change);
  const { sessionId, mode, effort } = change.record;
  return {
    launchId,
    folder,
    initializeId,
    conversation: sessionId === null ? { start: edges.newWireId() } : { resume: sessionId },
    permissionMode: mode,
    model: stage.model,
    effort,
    rules: await tx.rules.listFor(stage.projectId, stageId),
  };
}

/** What was sent while there was no room is in the queue of a session that runs now: nothing resumes it for that again. */
async function stopAwaitingRoom(tx: Tx, stageId: StageId): Promise<void> {
  for (const { id, body } of await tx.outbox.queueOf(stageId)) {
    if (body.awaitsRoom) await tx.outbox.setBody(id, { ...body, awaitsRoom: false });
  }
}

/**
 * What the turn that was cut off had been given and the conversation lacks goes first, under its old ids. False: there
 * is no such thing.
 */
async function giveAgain(tx: Tx, change: SessionChange): Promise<boolean> {
  const { launchId, turnMessages } = change.record;
  if (turnMessages.length === 0) return false;
  for (const id of turnMessages) await tx.outbox.assign(id, launchId);
  change.record = { ...change.record, turnMessages: [], turnRunning: true };
  const text =
    'Claude Code had ended before it wrote down what it was told last, so it is told that again. What it had done by then stands; it does not know of it, and may do it again.';
  addEntry(change, tx.now, { kind: 'notice', parentToolUseId: null, level: 'info', code: 'told-again', text });
  return true;
}

async function giveWork(
  tx: Tx,
  edges: Edges,
  change: SessionChange,
  stage: Stage,
  actor: string | null,
  first: boolean,
) {
  const queue = await tx.outbox.queueOf(stage.id);
  if (queue.length === 0) {
    const cutOff = change.record.lastTurn !== null && change.record.lastTurn.outcome !== 'succeeded';
    if (!first && !cutOff) return; // it comes up idle, ready for a message
    const text = first ? firstPrompt(stage) : CONTINUE_MESSAGE;
    const id = edges.newId();
    const row = { id, stageId: stage.id, launchId: null, wireId: edges.newWireId(), actor, createdAt: tx.now };
    await tx.outbox.insert({ ...row, body: textMessage(text) });
  }
  // A person asked for it to go on: that lets the first row go also where the queue is held.
  const [row] = await tx.outbox.queueOf(stage.id);
  if (row !== undefined) await deliver(tx, change, row);
}

function newSession(stage: Stage, now: string): SessionRecord {
  return {
    stageId: stage.id,
    state: 'ended',
    stateSince: now,
    mode: firstMode(stage),
    model: stage.model,
    sessionId: null,
    launchId: null,
    startedAt: now,
    lastTurn: null,
    lastAction: null,
    costUsd: 0,
    tokens: null,
    contextUsage: null,
    turnUsage: null,
    effort: null,
    todos: [],
    changes: null,
    changesCountedFor: null,
    phaseIndex: 0,
    atGate: false,
    stalledSince: null,
    denials: 0,
    openDenial: null,
    alarm: null,
    seenAlarms: [],
    cliVersion: null,
    cliGaps: [],
    backgroundTasks: [],
    mcpServers: [],
    leftOut: null,
    isolation: ISOLATION_UNKNOWN,
    sandboxAllowed: 0,
    queued: 0,
    queueHeld: false,
    heldSinceAlarm: false,
    leftovers: 0,
    transcriptLength: 0,
    turnRunning: false,
    turnMessages: [],
    lastTurnMessages: [],
    joinedMessages: [],
    promptBlocked: null,
    turnBegun: false,
    costCounted: 0,
    launchState: 'ended',
    blocks: {},
    agents: {},
    calls: {},
    strangers: [],
    lastCall: null,
    taskStarts: {},
  };
}
