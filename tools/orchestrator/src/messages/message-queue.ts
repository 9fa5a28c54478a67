import {
  isMidTurn,
  type MessageBody,
  MessageId,
  type MessagePatch,
  type QueuedMessage,
  type SendMessageReply,
  type StageId,
} from '@callboard/contract';
import { changeSession, noSession, openChange, saveChange } from '../domain/change-session.ts';
import { deliver, makeUrgent, queuedMessage } from '../domain/message-delivery.ts';
import { reopenStage } from '../domain/reopen-stage.ts';
import { requireNoAlarm } from '../domain/session-alarm.ts';
import type { SessionChange } from '../domain/session-change.ts';
import type { Bell } from '../lib/bell.ts';
import type { Edges } from '../lib/edges.ts';
import { Rejection } from '../lib/errors.ts';
import { type MessageContent, type MessageRow, messageBody } from '../store/records.ts';
import type { Store, Tx } from '../store/store.ts';
import { takeFiles } from './draft-files.ts';
import { putAside, takeBack } from './replaced-messages.ts';

export interface MessageQueueParts {
  store: Store;
  edges: Edges;
  outboxBell: Bell<StageId>;
  /** Begins a launch in this transaction, to work on the message; false: the message waits until there is room for one. */
  resumeWith: (tx: Tx, stageId: StageId, message: MessageRow) => Promise<boolean>;
  /** Cuts the running turn off, so that the message that waits in front goes next. */
  interrupt: (stageId: StageId) => Promise<void>;
  /** An interrupt that did not work; the message waits until the turn ends by itself. */
  onInterruptFailed: (stageId: StageId, error: unknown) => void;
  /** Resolves when there is a Claude Code to resume a session with. @throws Rejection `claude_missing` */
  requireClaude: () => Promise<void>;
  /** How long a reply waits for the end of a turn that is interrupted for the message. */
  confirmationMs: number;
}

/** Follow-ups, per stage, in order. Nothing a person wrote is ever dropped. */
export interface MessageQueue {
  /**
   * Sends at once when the session is idle, resumes one that has ended, and reopens a stage that is done. While Claude works: `append` adds a row,
   * `replace` puts it in the place of all rows not yet delivered (returns their texts, and keeps them with their files
   * among the drafts), `steer` writes it into the running turn, `now` interrupts the turn and sends it next; then the
   * reply waits a moment for that, so that `sent` and `queued` say what has happened. Under alarm all are queued.
   * @throws Rejection `unknown_stage`, `no_session`, `message_id_reused`; `claude_missing` where a session would have to be
   *   resumed, and then nothing is stored
   */
  send(stageId: StageId, body: MessageBody, actor: string): Promise<SendMessageReply>;
  /** Sends a text of Callboard's own as `append`, in a transaction of the caller's. @throws as `send` */
  sendTextIn(tx: Tx, stageId: StageId, text: string, actor: string): Promise<SendMessageReply>;
  /** Lets a queue go that is held; an ended session is resumed for it. @throws Rejection `no_session`, `session_alarm` */
  release(stageId: StageId, actor: string): Promise<void>;
  /** Does the same with a row that waits. @throws Rejection `no_session`, `unknown_message`, `already_sent`, `session_alarm` */
  sendQueued(stageId: StageId, messageId: MessageId, mode: 'steer' | 'now', actor: string): Promise<SendMessageReply>;
  /** Changes text or place. @throws as `sendQueued` */
  edit(stageId: StageId, messageId: MessageId, patch: MessagePatch): Promise<QueuedMessage>;
  /** Takes a row out and returns it. @throws as `sendQueued` */
  remove(stageId: StageId, messageId: MessageId): Promise<QueuedMessage>;
}

export function createMessageQueue(parts: MessageQueueParts): MessageQueue {
  const { store, edges, outboxBell, resumeWith } = parts;

  async function addRow(
    tx: Tx,
    stageId: StageId,
    content: MessageContent,
    actor: string,
    messageId: MessageId,
  ): Promise<MessageRow> {
    // Behind all there ever were: one that was delivered and comes back unread has its place before this one.
    const position = (await tx.outbox.lastPosition(stageId)) + 1;
    const row = { id: edges.newId(), stageId, launchId: null, wireId: messageId, actor, createdAt: tx.now };
    const body = messageBody(content);
    return { ...(await tx.outbox.insert({ ...row, body, position })), wireId: messageId, body };
  }

  async function takeAll(tx: Tx, stageId: StageId): Promise<string[]> {
    const rows = await tx.outbox.queueOf(stageId);
    for (const row of rows) await putAside(tx, edges, row);
    return rows.map((row) => row.body.text);
  }

  /** Puts the row in front, and cuts the running turn off for it. */
  async function interruptFor(tx: Tx, change: SessionChange, row: MessageRow): Promise<void> {
    await makeUrgent(tx, change, row);
    tx.afterCommit(() => void giveWay(row));
  }

  /** A turn whose process is dead, or had to be ended, has given way as well: the session is resumed for the message. */
  async function giveWay({ stageId, wireId }: MessageRow): Promise<void> {
    const onFailed = (error: unknown) => parts.onInterruptFailed(stageId, error);
    await parts.interrupt(stageId).catch(onFailed);
    const goOn = store.transact(async (tx) => {
      const row = await tx.outbox.findQueued(stageId, wireId);
      const session = await tx.sessions.find(stageId);
      if (row?.body.urgent && session?.launchId === null) await resumeWith(tx, stageId, row);
    });
    await goOn.catch(onFailed);
  }

  /** Gives a row that is in the queue its way; what is left to do when the session is idle is saved with the change. */
  async function dispatch(tx: Tx, change: SessionChange, row: MessageRow, mode: MessageBody['mode']): Promise<void> {
    const { state, queueHeld, queued } = change.record;
    change.queueChanged = true;
    if (tx.diskPauseReason() !== null) {
      // It waits like every other, in the place that it would have had.
      if (mode === 'now' || (state === 'idle' && queueHeld)) await makeUrgent(tx, change, row);
      return;
    }
    if (state === 'idle') {
      // Past rows that are held after a failed turn: those wait for a word of their own. Where none waits it is the next anyway.
      if (queueHeld || queued === 0 || mode === 'steer' || mode === 'now') await deliver(tx, change, row);
    } else if (isMidTurn(state)) {
      if (mode === 'steer') await deliver(tx, change, row);
      if (mode === 'now') await interruptFor(tx, change, row);
    }
  }

  async function sendRow(
    tx: Tx,
    change: SessionChange,
    row: MessageRow,
    mode: MessageBody['mode'],
  ): Promise<SendMessageReply> {
    const { stageId } = change.record;
    if (change.record.alarm !== null) {
      change.queueChanged = true;
      await saveChange(tx, change);
      return { status: 'queued', messageId: row.wireId };
    }
    if (change.record.launchId === null) {
      const isResumed = await resumeWith(tx, stageId, row);
      return { status: isResumed ? 'resumed' : 'queued', messageId: row.wireId };
    }
    await dispatch(tx, change, row, mode);
    await saveChange(tx, change); // delivers, when the session is idle
    tx.afterCommit(() => outboxBell.ring(stageId));
    return { status: change.delivered.includes(row.id) ? 'sent' : 'queued', messageId: row.wireId };
  }

  async function sendNew(
    tx: Tx,
    change: SessionChange,
    content: MessageContent,
    actor: string,
    mode: MessageBody['mode'],
    messageId = MessageId.parse(edges.newWireId()),
  ): Promise<SendMessageReply> {
    const row = await addRow(tx, change.record.stageId, content, actor, messageId);
    await tx.emit({ type: 'message-queued', data: queuedMessage(row) });
    return sendRow(tx, change, row, mode);
  }

  /** @returns the reply as it is once the turn that was in the way has ended, or does not end in time. */
  async function onceGiven(stageId: StageId, reply: SendMessageReply): Promise<SendMessageReply> {
    if (reply.status !== 'queued') return reply;
    const patience = AbortSignal.timeout(parts.confirmationMs);
    const given = Promise.withResolvers<boolean>();
    patience.addEventListener('abort', () => given.resolve(false));
    const unlisten = store.onEvent((event) => {
      if (event.type === 'message-sent' && event.data.messageId === reply.messageId) given.resolve(true);
    });
    try {
      const waits = (await store.read.outbox.findQueued(stageId, reply.messageId)) !== null;
      return !waits || (await given.promise) ? { ...reply, status: 'sent' } : reply;
    } finally {
      unlisten();
    }
  }

  /** A session that would have to be resumed, and cannot: whoever asks for that is told so before anything is stored. */
  async function requireResumable(stageId: StageId): Promise<void> {
    if ((await store.read.sessions.find(stageId))?.launchId === null) await parts.requireClaude();
  }

  async function reopen(tx: Tx, stageId: StageId, actor: string): Promise<boolean> {
    const stage = await tx.stages.find(stageId);
    if (stage === null || stage.completedAt === null) return false;
    await reopenStage(tx, stage, actor);
    return true;
  }

  return {
    async send(stageId, { message, mode, attachments = [], files = [], isCommand = false, messageId }, actor) {
      await requireResumable(stageId);
      const reply = await store.transact(async (tx): Promise<SendMessageReply> => {
        const change = await openChange(tx, stageId); // refuses a stage without a session
        const known = messageId === undefined ? null : await tx.outbox.findMessage(stageId, messageId);
        if (messageId !== undefined && known !== null) {
          requireSame(known, message, isCommand);
          const waits = (await tx.outbox.findQueued(stageId, messageId)) !== null;
          return { status: waits ? 'queued' : 'sent', messageId };
        }
        if (messageId !== undefined) await takeBack(tx, stageId, messageId);
        const reopened = await reopen(tx, stageId, actor);
        const replaced = mode === 'replace' ? await takeAll(tx, stageId) : undefined;
        const kept = await takeFiles(tx, stageId, files);
        const content = { text: message, attachments: [...attachments, ...kept], isCommand, attachesFiles: true };
        const current = reopened ? await openChange(tx, stageId) : change; // to reopen it is a change of the session
        const reply = await sendNew(tx, current, content, actor, mode, messageId);
        return { ...reply, ...(replaced && { replaced }), ...(reopened && { reopened: true as const }) };
      });
      return mode === 'now' ? onceGiven(stageId, reply) : reply;
    },

    sendTextIn: async (tx, stageId, text, actor) => {
      await reopen(tx, stageId, actor);
      const content = { text, attachments: [], isCommand: false, attachesFiles: false };
      return sendNew(tx, await openChange(tx, stageId), content, actor, 'append');
    },

    async release(stageId, actor) {
      await requireResumable(stageId);
      await store.transact(async (tx) => {
        await reopen(tx, stageId, actor);
        const change = await openChange(tx, stageId);
        requireNoAlarm(change.record);
        const [first] = await tx.outbox.queueOf(stageId);
        if (change.record.launchId === null) {
          if (first !== undefined) await resumeWith(tx, stageId, first);
          return;
        }
        change.record = { ...change.record, queueHeld: false };
        await saveChange(tx, change);
        tx.afterCommit(() => outboxBell.ring(stageId));
      });
    },

    async sendQueued(stageId, messageId, mode, actor) {
      await requireResumable(stageId);
      const reply = await store.transact(async (tx) => {
        const row = await requireQueued(tx, stageId, messageId);
        requireNoAlarm(await tx.sessions.find(stageId));
        await reopen(tx, stageId, actor);
        return sendRow(tx, await openChange(tx, stageId), row, mode);
      });
      return mode === 'now' ? onceGiven(stageId, reply) : reply;
    },

    edit: (stageId, messageId, { message, place }) =>
      store.transact(async (tx) => {
        const row = await requireQueued(tx, stageId, messageId);
        if (message !== undefined)
          await tx.outbox.setBody(row.id, { ...row.body, text: message, sentAs: row.body.sentAs ?? row.body.text });
        if (place !== undefined) await moveTo(tx, row, place);
        await touch(tx, stageId);
        return queuedMessage(await requireQueued(tx, stageId, messageId));
      }),

    remove: (stageId, messageId) =>
      store.transact(async (tx) => {
        const row = await requireQueued(tx, stageId, messageId);
        await tx.outbox.setVoid(row.id, 'removed by a person');
        await touch(tx, stageId);
        return queuedMessage(row);
      }),
  };
}

/** Deals the positions that the rows have out anew, with the row at its new place; a place behind the end is the end. */
async function moveTo(tx: Tx, row: MessageRow, place: number): Promise<void> {
  const queue = await tx.outbox.queueOf(row.stageId);
  const ordered = queue.filter((other) => other.id !== row.id).toSpliced(place, 0, row);
  let last = Number.MIN_SAFE_INTEGER;
  for (const [index, { id }] of ordered.entries()) {
    last = Math.max(last + 1, queue[index]?.position ?? 0);
    await tx.outbox.setPosition(id, last);
  }
}

/** The same message again, because its reply was lost, is the same message: also where the row was edited since. */
function requireSame({ body }: MessageRow, text: string, isCommand: boolean): void {
  if ((body.sentAs ?? body.text) === text && body.isCommand === isCommand) return;
  const message = 'This messageId belongs to another message of this stage. Send yours under an id of its own.';
  throw new Rejection('message_id_reused', message);
}

async function touch(tx: Tx, stageId: StageId): Promise<void> {
  await changeSession(tx, stageId, (change) => {
    change.queueChanged = true;
  });
}

async function requireQueued(tx: Tx, stageId: StageId, messageId: MessageId): Promise<MessageRow> {
  const row = await tx.outbox.findQueued(stageId, messageId);
  if (row !== null) return row;
  if ((await tx.sessions.find(stageId)) === null) throw await noSession(tx, stageId);
  if ((await tx.outbox.findMessage(stageId, messageId)) !== null) {
    throw new Rejection('already_sent', 'This message was already delivered or removed; it can no longer be changed.');
  }
  throw new Rejection('unknown_message', `${stageId} has no queued message ${messageId}.`);
}
