import type {
  MessageBody,
  MessageId,
  MessagePatch,
  QueuedMessage,
  SendMessageReply,
  StageId,
} from '@callboard/contract';
import { requireReadable } from '../domain/attachments.ts';
import { changeSession, noSession, openChange, saveChange } from '../domain/change-session.ts';
import { releaseStage } from '../domain/holds.ts';
import { queuedMessage } from '../domain/message-delivery.ts';
import { reopenStage } from '../domain/reopen-stage.ts';
import { returnToDrafts } from '../domain/review-comments.ts';
import { requireNoAlarm } from '../domain/session-alarm.ts';
import { requireNotInTerminal } from '../domain/terminal.ts';
import { Rejection } from '../lib/errors.ts';
import type { MessageRow } from '../store/records.ts';
import type { Tx } from '../store/store.ts';
import { takeFiles } from './draft-files.ts';
import { removeDraftsOf, saveReplaced } from './replaced-messages.ts';
import { type SendDeps, sendNew, sendRow, untilSent } from './send-message.ts';

export interface MessageQueueDeps extends SendDeps {
  /** Resolves if Claude Code is installed, so a session can be resumed. @throws Rejection `claude_missing` */
  requireClaude: () => Promise<void>;
  /** Takes a conversation back from a terminal in which Claude Code has ended; does nothing for any other. */
  withdrawIfGone: (stageId: StageId) => Promise<void>;
  /** Ends an idle process whose worktree is not in its place. */
  endIfReplaced: (stageId: StageId) => Promise<void>;
}

/** Follow-up messages of each stage, in order. Nothing that a person wrote is ever dropped. */
export interface MessageQueue {
  /**
   * Sends a message at once if the session is idle, resumes a session that has ended, and reopens a stage that is done.
   * While Claude works, `append` adds a row; `replace` adds one in the place of all undelivered rows (returns their
   * texts, and keeps them with their files among the drafts); `steer` writes it into the running turn; `now` interrupts
   * the turn and sends it next, and the reply waits a moment for that, so `sent` and `queued` say what has happened.
   * Under alarm every message is queued; so it is while Claude Code runs in a terminal to which the conversation was left. While the
   * stage is on hold it is queued as well, unless it goes into the running turn; `now` releases the stage.
   * @throws Rejection `unknown_stage`, `no_session`, `message_id_reused`; `claude_missing` if a session would have to be
   *   resumed, and then nothing is stored
   */
  send(stageId: StageId, body: MessageBody, actor: string): Promise<SendMessageReply>;
  /** Resolves if the session can take a message from a person: call it before `sendTextIn`. @throws Rejection `claude_missing` */
  requireResumable(stageId: StageId): Promise<void>;
  /** Sends a text that Callboard wrote as `append`, in the caller's transaction. @throws as `send` */
  sendTextIn(tx: Tx, stageId: StageId, text: string, actor: string): Promise<SendMessageReply>;
  /** Releases a held queue, and the stage; an ended session is resumed for it. @throws Rejection `no_session`, `session_alarm`, `in_terminal` */
  release(stageId: StageId, actor: string): Promise<void>;
  /** Steers with a queued row, or sends it now. @throws Rejection `no_session`, `unknown_message`, `already_sent`, `session_alarm`, `in_terminal` */
  sendQueued(stageId: StageId, messageId: MessageId, mode: 'steer' | 'now', actor: string): Promise<SendMessageReply>;
  /** Changes the text or the place of a row. @throws as `sendQueued` */
  edit(stageId: StageId, messageId: MessageId, patch: MessagePatch): Promise<QueuedMessage>;
  /** Removes a row and returns it. @throws as `sendQueued` */
  remove(stageId: StageId, messageId: MessageId): Promise<QueuedMessage>;
}

export function createMessageQueue(deps: MessageQueueDeps): MessageQueue {
  const { store } = deps;

  /** Checked before anything of the message is stored. */
  async function requireResumable(stageId: StageId): Promise<void> {
    await deps.withdrawIfGone(stageId);
    if ((await store.read.sessions.find(stageId))?.launchId === null) await deps.requireClaude();
  }

  /** A session with a process can take a message as it is, if its worktree is in its place. */
  async function whenResumable<T>(stageId: StageId, work: (tx: Tx) => Promise<T>): Promise<T> {
    await deps.endIfReplaced(stageId);
    const done = await store.transact(async (tx) => {
      const session = await tx.sessions.find(stageId);
      return session?.launchId == null || session.terminal !== null ? null : { value: await work(tx) };
    });
    if (done !== null) return done.value;
    await requireResumable(stageId);
    return store.transact(work);
  }

  return {
    requireResumable,
    async send(stageId, message, actor) {
      const reply = await whenResumable(stageId, (tx) => send(tx, deps, { stageId, message, actor }));
      return message.mode === 'now' ? untilSent(deps, stageId, reply) : reply;
    },

    async sendTextIn(tx, stageId, text, actor) {
      await reopen(tx, stageId, actor);
      const content = { text, attachments: [], isCommand: false, attachesFiles: false };
      return sendNew(deps, { tx, change: await openChange(tx, stageId) }, { content, actor, mode: 'append' });
    },

    async release(stageId, actor) {
      await whenResumable(stageId, (tx) => release(tx, deps, stageId, actor));
    },

    async sendQueued(stageId, messageId, mode, actor) {
      const reply = await whenResumable(stageId, async (tx) => {
        const row = await requireQueued(tx, stageId, messageId);
        const session = await tx.sessions.find(stageId);
        requireNoAlarm(session);
        requireNotInTerminal(session);
        await reopen(tx, stageId, actor);
        return sendRow(deps, { tx, change: await openChange(tx, stageId) }, row, mode);
      });
      return mode === 'now' ? untilSent(deps, stageId, reply) : reply;
    },

    edit: (stageId, messageId, patch) => store.transact((tx) => edit(tx, stageId, messageId, patch)),

    remove: (stageId, messageId) =>
      store.transact(async (tx) => {
        const row = await requireQueued(tx, stageId, messageId);
        await tx.outbox.setVoid(row.id, 'removed by a person');
        await returnToDrafts(tx, stageId, messageId);
        await notifyQueue(tx, stageId);
        return queuedMessage(row);
      }),
  };
}

async function send(
  tx: Tx,
  deps: MessageQueueDeps,
  { stageId, message: body, actor }: { stageId: StageId; message: MessageBody; actor: string },
): Promise<SendMessageReply> {
  const { message, mode, attachments = [], files = [], isCommand = false, messageId } = body;
  const change = await openChange(tx, stageId); // refuses a stage without a session
  const known = messageId === undefined ? null : await tx.outbox.findMessage(stageId, messageId);
  if (messageId !== undefined && known !== null) {
    requireSame(known, message, isCommand);
    const waits = (await tx.outbox.findQueued(stageId, messageId)) !== null;
    return { status: waits ? 'queued' : 'sent', messageId };
  }
  requireReadable(attachments);
  if (messageId !== undefined) await removeDraftsOf(tx, stageId, messageId);
  const reopened = await reopen(tx, stageId, actor);
  const replaced = mode === 'replace' ? await replaceAll(tx, deps, stageId) : undefined;
  const saved = await takeFiles(tx, stageId, files);
  const content = { text: message, attachments: [...attachments, ...saved], isCommand, attachesFiles: true };
  const current = reopened ? await openChange(tx, stageId) : change; // reopening has changed the session
  const reply = await sendNew(deps, { tx, change: current }, { content, actor, mode, messageId });
  return { ...reply, ...(replaced && { replaced }), ...(reopened && { reopened: true as const }) };
}

/** Takes all rows out of the queue. @returns their texts */
async function replaceAll(tx: Tx, { platform }: MessageQueueDeps, stageId: StageId): Promise<string[]> {
  const rows = await tx.outbox.queueOf(stageId);
  for (const row of rows) await takeOut(tx, platform, row);
  return rows.map((row) => row.body.text);
}

/** Comments of a review are drafts again, which keeps what the message said; any other message is kept as it is. */
async function takeOut(tx: Tx, platform: MessageQueueDeps['platform'], row: MessageRow): Promise<void> {
  const returned = await returnToDrafts(tx, row.stageId, row.wireId);
  if (returned > 0 && row.body.sentAs === null) await tx.outbox.setVoid(row.id, 'replaced by a later message');
  else await saveReplaced(tx, platform, row);
}

/** @returns whether the stage was done */
async function reopen(tx: Tx, stageId: StageId, actor: string): Promise<boolean> {
  const stage = await tx.stages.find(stageId);
  if (stage === null || stage.completedAt === null) return false;
  await reopenStage(tx, stage, actor);
  return true;
}

async function release(
  tx: Tx,
  { resumeWith, outboxSignal }: MessageQueueDeps,
  stageId: StageId,
  actor: string,
): Promise<void> {
  await reopen(tx, stageId, actor);
  const change = await openChange(tx, stageId);
  requireNoAlarm(change.record);
  requireNotInTerminal(change.record);
  await releaseStage(tx, stageId);
  const [first] = await tx.outbox.queueOf(stageId);
  if (change.record.launchId === null) {
    if (first !== undefined) await resumeWith(tx, stageId, first);
    return;
  }
  change.record = { ...change.record, queueHeld: false };
  await saveChange(tx, change);
  tx.afterCommit(() => outboxSignal.ring(stageId));
}

async function edit(
  tx: Tx,
  stageId: StageId,
  messageId: MessageId,
  { message, place }: MessagePatch,
): Promise<QueuedMessage> {
  const row = await requireQueued(tx, stageId, messageId);
  if (message !== undefined)
    await tx.outbox.setBody(row.id, { ...row.body, text: message, sentAs: row.body.sentAs ?? row.body.text });
  if (place !== undefined) await moveTo(tx, row, place);
  await notifyQueue(tx, stageId);
  return queuedMessage(await requireQueued(tx, stageId, messageId));
}

/** Reassigns the positions of the rows, with this row at its new place. A place after the end counts as the end. */
async function moveTo(tx: Tx, row: MessageRow, place: number): Promise<void> {
  const queue = await tx.outbox.queueOf(row.stageId);
  const ordered = queue.filter((other) => other.id !== row.id).toSpliced(place, 0, row);
  let last = Number.MIN_SAFE_INTEGER;
  for (const [index, { id }] of ordered.entries()) {
    last = Math.max(last + 1, queue[index]?.position ?? 0);
    await tx.outbox.setPosition(id, last);
  }
}

/** A message that is sent again because its reply was lost is the same message, even if the row was edited since. */
function requireSame({ body }: MessageRow, text: string, isCommand: boolean): void {
  if ((body.sentAs ?? body.text) === text && body.isCommand === isCommand) return;
  const message = 'This messageId belongs to another message of this stage. Use a new id for yours.';
  throw new Rejection('message_id_reused', message);
}

async function notifyQueue(tx: Tx, stageId: StageId): Promise<void> {
  await changeSession(tx, stageId, (change) => {
    change.queueChanged = true;
  });
}

async function requireQueued(tx: Tx, stageId: StageId, messageId: MessageId): Promise<MessageRow> {
  const row = await tx.outbox.findQueued(stageId, messageId);
  if (row !== null) return row;
  if ((await tx.sessions.find(stageId)) === null) throw await noSession(tx, stageId);
  if ((await tx.outbox.findMessage(stageId, messageId)) !== null) {
    throw new Rejection(
      'already_sent',
      'This message was already delivered or removed, so it can no longer be changed.',
    );
  }
  throw new Rejection('unknown_message', `${stageId} has no queued message ${messageId}.`);
}
