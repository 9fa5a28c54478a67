import {
  type AttachedFile,
  isChecking,
  isMidTurn,
  MESSAGE_KEY,
  type MessageBody,
  MessageDraft,
  MessageId,
  type MessagePatch,
  type QueuedMessage,
  REPLACED_PREFIX,
  type ReplacedMessage,
  type SendMessageReply,
  type StageId,
} from '@callboard/contract';
import type { CommandHandlers } from '../../core/commands/command-handler.ts';
import type { BoardViews } from '../../core/session/board-views.ts';
import { changeSession, noSession, openChange, reopenStage, saveChange } from '../../core/session/change-session.ts';
import {
  deliver,
  makeUrgent,
  queuedMessage,
  requireReadable,
  returnToDrafts,
} from '../../core/session/message-delivery.ts';
import { stopCheck } from '../../core/session/pipeline.ts';
import { requireNoAlarm } from '../../core/session/requests.ts';
import { requireNotInTerminal } from '../../core/session/rewind-rules.ts';
import type { SessionChange } from '../../core/session/session-change.ts';
import { budgetBefore, isStagePaused, releaseStage } from '../../core/session/spending-limits.ts';
import { Rejection } from '../../lib/errors.ts';
import type { Platform } from '../../platform/runtime.ts';
import { type MessageContent, type MessageRow, messageBody } from '../../store/records.ts';
import { onEvents, type Store, type Tx } from '../../store/store.ts';
import { type DraftFiles, type Drafts, saveDraft, storeAttachment, takeFiles } from './drafts.ts';

export interface MessageDeps {
  views: BoardViews;
  messages: MessageQueue;
  drafts: Drafts;
  draftFiles: DraftFiles;
}

type MessageCommands =
  | 'send_message'
  | 'get_queue'
  | 'edit_queued'
  | 'release_queue'
  | 'send_queued'
  | 'remove_queued'
  | 'get_drafts'
  | 'put_draft'
  | 'add_draft_file'
  | 'get_draft_file'
  | 'remove_draft_file';

export function messageCommands(deps: MessageDeps): Pick<CommandHandlers, MessageCommands> {
  const { views, messages, drafts, draftFiles } = deps;
  return {
    send_message: ({ stageId, ...body }, { actor }) => messages.send(stageId, body, actor.name),
    get_queue: async ({ stageId }) => {
      const { queue, queueHeld } = await views.session(stageId);
      return { queue, held: queueHeld };
    },
    edit_queued: async ({ stageId, messageId, patch }) => ({ message: await messages.edit(stageId, messageId, patch) }),
    release_queue: async ({ stageId }, { actor }) => {
      await messages.release(stageId, actor.name);
      return { session: await views.session(stageId) };
    },
    send_queued: ({ stageId, messageId, mode }, { actor }) => messages.sendQueued(stageId, messageId, mode, actor.name),
    remove_queued: async ({ stageId, messageId }) => ({ message: await messages.remove(stageId, messageId) }),

    get_drafts: async ({ stageId }) => ({ drafts: await drafts.list(stageId) }),
    put_draft: (draft) => drafts.put(draft),

    add_draft_file: async ({ stageId, fileId, file }) => ({ file: await draftFiles.add(stageId, fileId, file) }),
    get_draft_file: async ({ stageId, fileId }) => ({ file: await draftFiles.get(stageId, fileId) }),
    remove_draft_file: async ({ stageId, fileId }) => ({ file: await draftFiles.remove(stageId, fileId) }),
  };
}

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
    const workNow = async (tx: Tx) => {
      const session = await tx.sessions.find(stageId);
      return session?.launchId == null || session.terminal !== null ? null : { value: await work(tx) };
    };
    const done = await store.transact(workNow, { stage: stageId });
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

async function release(tx: Tx, { resumeWith }: MessageQueueDeps, stageId: StageId, actor: string): Promise<void> {
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

/**
 * Takes a row out of the queue for a later message. Its text and its files are kept among the drafts, under the id
 * under which the message can still be sent.
 */
async function saveReplaced(tx: Tx, platform: Platform, row: MessageRow): Promise<void> {
  const { stageId, body, position } = row;
  const files: AttachedFile[] = [];
  for (const content of body.attachments) files.push(await storeAttachment(tx, stageId, platform.newWireId(), content));
  await tx.outbox.setVoid(row.id, 'replaced by a later message');
  const value: ReplacedMessage = { text: body.text, isCommand: body.isCommand, position, files };
  await saveDraft(tx, { stageId, key: REPLACED_PREFIX + platform.newWireId(), value, writer: null });
}

/**
 * Removes the drafts of a message that is being taken: its text in the message box, or the message as one that was replaced.
 * Another text stays: somebody may be writing it on another device.
 */
async function removeDraftsOf(tx: Tx, stageId: StageId, messageId: MessageId): Promise<void> {
  for (const { key, value } of await tx.drafts.listOf(stageId)) {
    const isOfBox = key === MESSAGE_KEY && MessageDraft.safeParse(value).data?.messageId === messageId;
    if (isOfBox || key === REPLACED_PREFIX + messageId)
      await saveDraft(tx, { stageId, key, value: null, writer: null });
  }
}

export interface SendDeps {
  store: Store;
  platform: Platform;
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
async function sendNew(deps: SendDeps, { tx, change }: Target, message: NewMessage): Promise<SendMessageReply> {
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
async function sendRow(
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
async function untilSent(
  { store, confirmationMs }: Pick<SendDeps, 'store' | 'confirmationMs'>,
  stageId: StageId,
  reply: SendMessageReply,
): Promise<SendMessageReply> {
  if (reply.status !== 'queued') return reply;
  const timeout = AbortSignal.timeout(confirmationMs);
  const sent = Promise.withResolvers<boolean>();
  timeout.addEventListener('abort', () => sent.resolve(false));
  const unlisten = onEvents(store, ['message-sent'], ({ data }) => {
    if (data.messageId === reply.messageId) sent.resolve(true);
  });
  try {
    const waits = (await store.read.outbox.findQueued(stageId, reply.messageId)) !== null;
    return !waits || (await sent.promise) ? { ...reply, status: 'sent' } : reply;
  } finally {
    unlisten();
  }
}
