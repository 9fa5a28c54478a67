import {
  CommentId,
  type CommentState,
  isSeenBy,
  type NewComment,
  type ReviewComment,
  type SentComments,
  type StageId,
} from '@callboard/contract';
import { sendComments } from '../domain/review-comments.ts';
import type { Platform } from '../lib/edges.ts';
import { Rejection } from '../lib/errors.ts';
import type { MessageQueue } from '../messages/message-queue.ts';
import type { CommentRecord } from '../store/records.ts';
import { requireProject, requireStage } from '../store/require.ts';
import type { Store, Tx } from '../store/store.ts';
import type { Worktrees } from '../worktrees/worktrees.ts';
import { linesAt } from './place-comment.ts';
import { reviewMessage } from './review-message.ts';

/** What people write beside the lines of a stage's changes. */
export interface Comments {
  /** Returns the comments that this person sees, oldest first. @throws Rejection `unknown_stage` */
  list(stageId: StageId, person: string): Promise<ReviewComment[]>;
  /**
   * Adds a draft with the lines that it is about. One with a known id stays as it is and is returned.
   * @throws Rejection `unknown_stage`, `no_session`; `bad_request` if the file has no such lines; `head_moved`
   */
  add(stageId: StageId, comment: NewComment, person: string): Promise<ReviewComment>;
  /** @throws Rejection `unknown_comment`, `comment_sent`, `not_your_comment` */
  edit(stageId: StageId, commentId: CommentId, text: string, person: string): Promise<ReviewComment>;
  /** Removes a draft, dismisses a finding. @throws as `edit` */
  remove(stageId: StageId, commentId: CommentId, person: string): Promise<ReviewComment>;
  /**
   * Sends drafts as one message, with their marks in one transaction; repeated with the same ids, it sends nothing again.
   * @param ids all drafts of this person if left out
   * @throws as `edit`; Rejection `no_comments`; whatever `MessageQueue.send` throws
   */
  send(stageId: StageId, ids: readonly CommentId[] | undefined, person: string): Promise<SentComments>;
}

interface CommentsDeps {
  store: Store;
  platform: Pick<Platform, 'newWireId'>;
  worktrees: Pick<Worktrees, 'diff' | 'withContents'>;
  messages: Pick<MessageQueue, 'requireResumable' | 'sendTextIn'>;
}

export function createComments({ store, platform, worktrees, messages }: CommentsDeps): Comments {
  async function locationOf(stageId: StageId, wanted: NewComment) {
    const stage = await requireStage(store.read, stageId);
    const project = await requireProject(store.read, stage.projectId);
    const { worktree } = stage;
    if (worktree === null) throw new Rejection('no_session', `${stageId} has no worktree yet. Start the stage first.`);
    const { path, base, tree } = wanted;
    const ends = { ...(base !== undefined && { base }), ...(tree !== undefined && { tree }) };
    const diff = await worktrees.diff(project, worktree, { path, ...ends });
    return worktrees.withContents(worktree, (contents) => linesAt(contents, wanted, diff));
  }

  return {
    async list(stageId, person) {
      await requireStage(store.read, stageId);
      const comments = await store.read.comments.listOf(stageId);
      return comments.filter((one) => isSeenBy(one, person)).map((one) => shown(one, person));
    },

    async add(stageId, wanted, person) {
      const id = wanted.commentId ?? CommentId.parse(platform.newWireId());
      const known = await store.read.comments.find(stageId, id);
      if (known !== null) return shown(known, person);
      const { version, quote } = await locationOf(stageId, wanted);
      const { path, side, line, endLine = line, text } = wanted;
      return store.transact(async (tx) => {
        await requireStage(tx, stageId);
        const meanwhile = await tx.comments.find(stageId, id);
        if (meanwhile !== null) return shown(meanwhile, person);
        const comment: CommentRecord = {
          id,
          stageId,
          author: person,
          isFinding: false,
          severity: null,
          path,
          side,
          line,
          endLine,
          version,
          quote,
          origin: { line, endLine, version },
          text,
          hasMoved: false,
          createdAt: tx.now,
          sentAt: null,
          sentBy: null,
          messageId: null,
          answeredAt: null,
        };
        await tx.comments.save(comment);
        await sendComments(tx, stageId);
        return shown(comment, person);
      });
    },

    edit: (stageId, commentId, text, person) =>
      store.transact(async (tx) => {
        const comment = { ...(await requireDraft(tx, stageId, commentId, person)), text };
        await tx.comments.save(comment);
        await sendComments(tx, stageId);
        return shown(comment, person);
      }),

    remove: (stageId, commentId, person) =>
      store.transact(async (tx) => {
        const comment = await requireDraft(tx, stageId, commentId, person);
        await tx.comments.remove(stageId, commentId);
        await sendComments(tx, stageId);
        return shown(comment, person);
      }),

    async send(stageId, ids, person) {
      await messages.requireResumable(stageId);
      return store.transact((tx) => send(tx, messages, { stageId, ids, person }));
    },
  };
}

async function send(
  tx: Tx,
  messages: CommentsDeps['messages'],
  { stageId, ids, person }: { stageId: StageId; ids: readonly CommentId[] | undefined; person: string },
): Promise<SentComments> {
  await requireStage(tx, stageId);
  const all = await tx.comments.listOf(stageId);
  const chosen = ids === undefined ? all.filter((one) => !isSent(one) && one.author === person) : pick(all, ids);
  const [first] = chosen;
  if (first === undefined) throw new Rejection('no_comments', 'There are no comments to send. Write one first.');
  if (first.messageId !== null && chosen.every(({ messageId }) => messageId === first.messageId)) {
    // Sent before, and the reply was lost.
    const isQueued = (await tx.outbox.findQueued(stageId, first.messageId)) !== null;
    const message = { status: isQueued ? ('queued' as const) : ('sent' as const), messageId: first.messageId };
    return { message, comments: chosen.map((one) => shown(one, person)) };
  }
  for (const comment of chosen) requireOpen(comment, person);
  const text = reviewMessage(inFileOrder(chosen));
  if (text.length > MAX_MESSAGE_LENGTH) {
    throw new Rejection('bad_request', 'These comments are too long for one message. Choose fewer, or shorten them.');
  }
  const message = await messages.sendTextIn(tx, stageId, text, person);
  const sent = chosen.map((one) => ({ ...one, sentAt: tx.now, sentBy: person, messageId: message.messageId }));
  for (const comment of sent) await tx.comments.save(comment);
  await sendComments(tx, stageId);
  return { message, comments: sent.map((one) => shown(one, person)) };
}

const MAX_MESSAGE_LENGTH = 200_000;

function pick(all: readonly CommentRecord[], ids: readonly CommentId[]): CommentRecord[] {
  return [...new Set(ids)].map((id) => all.find((one) => one.id === id) ?? unknown(id));
}

function unknown(id: CommentId): never {
  throw new Rejection('unknown_comment', `This stage has no comment ${id}. It may have been removed.`);
}

const inFileOrder = (comments: readonly CommentRecord[]): CommentRecord[] =>
  comments.toSorted((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : a.line - b.line));

const isSent = ({ sentAt }: CommentRecord): boolean => sentAt !== null;

/** Findings belong to everybody. */
const isOwn = ({ author, isFinding }: CommentRecord, person: string): boolean => isFinding || author === person;

function requireOpen(comment: CommentRecord, person: string): void {
  if (!isOwn(comment, person))
    throw new Rejection('not_your_comment', `This draft is ${comment.author}'s; only ${comment.author} can change it.`);
  if (isSent(comment))
    throw new Rejection('comment_sent', 'This comment was already sent, so it can no longer be changed.');
}

async function requireDraft(tx: Tx, stageId: StageId, id: CommentId, person: string): Promise<CommentRecord> {
  const comment = (await tx.comments.find(stageId, id)) ?? unknown(id);
  requireOpen(comment, person);
  return comment;
}

function shown({ origin: _, ...comment }: CommentRecord, person: string): ReviewComment {
  return {
    ...comment,
    state: stateOf(comment),
    isMine: comment.sentAt === null && isOwn({ ...comment, origin: _ }, person),
  };
}

/** See `CommentState`. */
function stateOf({ sentAt, answeredAt, hasMoved }: Omit<CommentRecord, 'origin'>): CommentState {
  if (sentAt === null) return 'draft';
  if (hasMoved) return 'outdated';
  return answeredAt === null ? 'sent' : 'answered';
}
