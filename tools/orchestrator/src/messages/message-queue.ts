import {
  type MessageBody,
  MessageId,
  type QueuedMessage,
  type SendMessageReply,
  type StageId,
} from '@callboard/contract';
import type { Bell } from '../lib/bell.ts';
import type { Edges } from '../lib/edges.ts';
import { Rejection } from '../lib/errors.ts';
import { changeSession, noSession, openDraft, saveDraft } from '../session-state/change-session.ts';
import { deliver, queuedMessage } from '../session-state/delivery.ts';
import type { MessageRow } from '../store/records.ts';
import type { Store, Tx } from '../store/store.ts';

export interface MessageQueueParts {
  store: Store;
  edges: Edges;
  outboxBell: Bell<StageId>;
  /** Begins a launch in this transaction, to work on the message. */
  resumeWith: (tx: Tx, stageId: StageId, message: MessageRow) => Promise<void>;
}

/** Follow-ups, per stage, in order. Nothing a person wrote is ever dropped. */
export interface MessageQueue {
  /**
   * Sends at once when the session is idle, resumes one that has ended, and otherwise adds a row (`append`), or a row
   * in the place of all rows not yet delivered (`replace`, which returns their texts).
   * @throws Rejection `no_session`
   */
  send(stageId: StageId, body: MessageBody, actor: string): Promise<SendMessageReply>;
  /** @throws Rejection `no_session`, `unknown_message`, `already_sent` */
  edit(stageId: StageId, messageId: MessageId, text: string): Promise<QueuedMessage>;
  /** Takes a row out and returns it. @throws as `edit` */
  remove(stageId: StageId, messageId: MessageId): Promise<QueuedMessage>;
}

export function createMessageQueue({ store, edges, outboxBell, resumeWith }: MessageQueueParts): MessageQueue {
  async function addRow(tx: Tx, stageId: StageId, text: string, actor: string): Promise<MessageRow> {
    const messageId = MessageId.parse(edges.newWireId());
    const last = (await tx.outbox.queueOf(stageId)).at(-1)?.position ?? 0;
    const body = { kind: 'message', text, entered: false } as const;
    const row = { id: edges.newId(), stageId, launchId: null, wireId: messageId, actor, createdAt: tx.now };
    await tx.outbox.insert({ ...row, body, position: last + 1 });
    return requireQueued(tx, stageId, messageId);
  }

  async function takeAll(tx: Tx, stageId: StageId): Promise<string[]> {
    const rows = await tx.outbox.queueOf(stageId);
    for (const row of rows) await tx.outbox.setVoid(row.id, 'replaced by a later message');
    return rows.map((row) => row.body.text);
  }

  return {
    send: (stageId, { message, mode = 'append' }, actor) =>
      store.transact(async (tx) => {
        const record = await tx.sessions.find(stageId);
        if (record === null) throw noSession(stageId);
        const replaced = mode === 'replace' ? await takeAll(tx, stageId) : undefined;
        const row = await addRow(tx, stageId, message, actor);
        const reply = { messageId: row.wireId, ...(replaced === undefined ? {} : { replaced }) };
        await tx.emit({ type: 'message-queued', data: queuedMessage(row) });
        if (record.launchId === null) {
          await resumeWith(tx, stageId, row);
          return { status: 'resumed', ...reply };
        }
        const draft = await openDraft(tx, stageId);
        draft.queueChanged = true;
        // Past rows that are held after a failed turn: those wait for a word of their own.
        if (record.state === 'idle' && record.queueHeld) await deliver(tx, draft, row);
        await saveDraft(tx, draft); // delivers, when the session is idle
        tx.afterCommit(() => outboxBell.ring(stageId));
        const waits = (await tx.outbox.findQueued(stageId, row.wireId)) !== null;
        return { status: waits ? 'queued' : 'sent', ...reply };
      }),

    edit: (stageId, messageId, text) =>
      store.transact(async (tx) => {
        const row = await requireQueued(tx, stageId, messageId);
        await tx.outbox.setBody(row.id, { ...row.body, text });
        await touch(tx, stageId);
        return queuedMessage({ ...row, body: { ...row.body, text } });
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

async function touch(tx: Tx, stageId: StageId): Promise<void> {
  await changeSession(tx, stageId, (draft) => {
    draft.queueChanged = true;
  });
}

async function requireQueued(tx: Tx, stageId: StageId, messageId: MessageId): Promise<MessageRow> {
  const row = await tx.outbox.findQueued(stageId, messageId);
  if (row !== null) return row;
  if ((await tx.sessions.find(stageId)) === null) throw noSession(stageId);
  if (await tx.outbox.knowsMessage(stageId, messageId)) {
    throw new Rejection('already_sent', 'This message was already delivered or removed; it can no longer be changed.');
  }
  throw new Rejection('unknown_message', `${stageId} has no queued message ${messageId}.`);
}
