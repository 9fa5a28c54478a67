import {
  isChecking,
  isMidTurn,
  type MessageBody,
  MessageId,
  type SendMessageReply,
  type StageId,
} from '@callboard/contract';
import { budgetBefore } from '../domain/budgets.ts';
import { saveChange } from '../domain/change-session.ts';
import { stopCheck } from '../domain/checks.ts';
import { isStagePaused, releaseStage } from '../domain/holds.ts';
import { deliver, makeUrgent, queuedMessage } from '../domain/message-delivery.ts';
import type { SessionChange } from '../domain/session-change.ts';
import type { Signal } from '../lib/bell.ts';
import type { Platform } from '../lib/edges.ts';
import { type MessageContent, type MessageRow, messageBody } from '../store/records.ts';
import type { Store, Tx } from '../store/store.ts';

export interface SendDeps {
  store: Store;
  platform: Platform;
  outboxSignal: Signal<StageId>;
  /** Begins a launch in this transaction, to work on the message. False: the disk is nearly full, the stage is on hold or a budget is spent, so the message waits. */
  resumeWith: (tx: Tx, stageId: StageId, message: MessageRow) => Promise<boolean>;
  /** Interrupts the running turn, so that the first message in the queue goes next. */
  interrupt: (stageId: StageId) => Promise<void>;
  /** Called when an interrupt failed; the message then waits until the turn ends. */
  onInterruptFailed: (stageId: StageId, error: unknown) => void;
  /** How long a reply waits for the end of a turn that was interrupted for the message. */
  confirmationMs: number;
}

/** The session that a message goes to, in the caller's transaction. */
interface Target {
  tx: Tx;
  change: SessionChange;
}

export interface NewMessage {
  content: MessageContent;
  actor: string;
  mode: MessageBody['mode'];
  /** A new one if left out. */
  messageId?: MessageId | undefined;
}

/** Adds a message to the queue and sends it. @returns its status at the end of the transaction */
export async function sendNew(deps: SendDeps, { tx, change }: Target, message: NewMessage): Promise<SendMessageReply> {
  const { platform } = deps;
  const { stageId } = change.record;
  const wireId = message.messageId ?? MessageId.parse(platform.newWireId());
  // After every row so far, delivered ones too: a message that returns unread belongs before this one.
  const position = (await tx.outbox.lastPosition(stageId)) + 1;
  const row = { id: tx.newId(), stageId, launchId: null, wireId, actor: message.actor, createdAt: tx.now };
  const body = messageBody(message.content);
  const added = { ...(await tx.outbox.insert({ ...row, body, position })), wireId, body };
  await tx.emit({ type: 'message-queued', data: queuedMessage(added) });
  return sendRow(deps, { tx, change }, added, message.mode);
}

/** Sends a row that is in the queue. @returns its status at the end of the transaction */
export async function sendRow(
  deps: SendDeps,
  { tx, change }: Target,
  row: MessageRow,
  mode: MessageBody['mode'],
): Promise<SendMessageReply> {
  const { stageId } = change.record;
  const waitsForCheck = isChecking(change.record) && !(await overtakesCheck({ tx, change }, mode));
  if (change.record.alarm !== null || change.record.terminal !== null || waitsForCheck) {
    change.queueChanged = true;
    await saveChange(tx, change);
    return { status: 'queued', messageId: row.wireId };
  }
  if (mode === 'now') await releaseStage(tx, stageId);
  if (change.record.launchId === null) {
    const isResumed = await deps.resumeWith(tx, stageId, row);
    return { status: isResumed ? 'resumed' : 'queued', messageId: row.wireId };
  }
  await dispatch(deps, { tx, change }, row, mode);
  await saveChange(tx, change); // delivers the next row if the session is idle
  tx.afterCommit(() => deps.outboxSignal.ring(stageId));
  return { status: change.delivered.includes(row.id) ? 'sent' : 'queued', messageId: row.wireId };
}

/**
 * While a check runs, Claude does not change what is checked: a message waits for the result, and goes on from there. One that is
 * not to wait stops the check, which is due again after its turn.
 */
async function overtakesCheck({ tx, change }: Target, mode: MessageBody['mode']): Promise<boolean> {
  if (mode !== 'now' && mode !== 'steer') return false;
  await stopCheck(tx, change, 'It was stopped because a message was sent; it runs again after its turn.');
  const hasProcess = change.record.launchId !== null;
  change.record = { ...change.record, state: hasProcess ? 'idle' : 'ended' };
  if (!hasProcess) await saveChange(tx, change); // resuming reads the session again
  return true;
}

/** Delivers a row at once if its mode and the session's state say so; `saveChange` does the rest for an idle session. */
async function dispatch(
  deps: SendDeps,
  { tx, change }: Target,
  row: MessageRow,
  mode: MessageBody['mode'],
): Promise<void> {
  const { state, queueHeld, queued } = change.record;
  change.queueChanged = true;
  const isTurnPaused = async () =>
    (await isStagePaused(tx, row.stageId)) || (await budgetBefore(tx, change.record)) !== null;
  if (tx.diskPauseReason() !== null || (state === 'idle' && (await isTurnPaused()))) {
    // It waits like any other message, in the place that it would have had.
    if (mode === 'now' || (state === 'idle' && queueHeld)) await makeUrgent(tx, change, row);
    return;
  }
  if (state === 'idle') {
    // Ahead of rows that are held after a failed turn: a person releases those. If nothing waits, this row is next anyway.
    if (queueHeld || queued === 0 || mode === 'steer' || mode === 'now') await deliver(tx, change, row);
  } else if (isMidTurn(state)) {
    if (mode === 'steer') await deliver(tx, change, row);
    if (mode === 'now') {
      await makeUrgent(tx, change, row);
      tx.afterCommit(() => void interruptFor(deps, row));
    }
  }
}

/** Interrupts the turn for a row. If that ended the process, or it was dead, the session is resumed for the row. */
async function interruptFor(deps: SendDeps, { stageId, wireId }: MessageRow): Promise<void> {
  const onFailed = (error: unknown) => deps.onInterruptFailed(stageId, error);
  await deps.interrupt(stageId).catch(onFailed);
  const resumed = deps.store.transact(async (tx) => {
    const row = await tx.outbox.findQueued(stageId, wireId);
    const session = await tx.sessions.find(stageId);
    if (row?.body.urgent && session?.launchId === null) await deps.resumeWith(tx, stageId, row);
  });
  await resumed.catch(onFailed);
}

/** Waits up to `confirmationMs` until a queued message is sent. @returns the reply as it is then */
export async function untilSent(
  { store, confirmationMs }: Pick<SendDeps, 'store' | 'confirmationMs'>,
  stageId: StageId,
  reply: SendMessageReply,
): Promise<SendMessageReply> {
  if (reply.status !== 'queued') return reply;
  const timeout = AbortSignal.timeout(confirmationMs);
  const sent = Promise.withResolvers<boolean>();
  timeout.addEventListener('abort', () => sent.resolve(false));
  const unlisten = store.onEvent((event) => {
    if (event.type === 'message-sent' && event.data.messageId === reply.messageId) sent.resolve(true);
  });
  try {
    const waits = (await store.read.outbox.findQueued(stageId, reply.messageId)) !== null;
    return !waits || (await sent.promise) ? { ...reply, status: 'sent' } : reply;
  } finally {
    unlisten();
  }
}
