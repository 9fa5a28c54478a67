import {
  CommentId,
  type CommentState,
  isSeenBy,
  type MisplacedFinding,
  type NewComment,
  type ReviewComment,
  type ReviewFinding,
  type SentComments,
  type StageDiff,
  type StageId,
  type ViewedFiles,
  type Worktree,
} from '@callboard/contract';
import type { CommandHandlers } from '../../core/commands/command-handler.ts';
import { sendComments } from '../../core/session/message-delivery.ts';
import type { Contents, LineHunk, LineRange } from '../../core/worktrees/file-changes.ts';
import type { Worktrees } from '../../core/worktrees/worktrees.ts';
import { createKeyedMutex } from '../../lib/async.ts';
import { Rejection } from '../../lib/errors.ts';
import { fenced } from '../../lib/text.ts';
import type { Platform } from '../../platform/runtime.ts';
import type { CommentRecord } from '../../store/records.ts';
import { requireProject, requireStage, type Store, type Tx } from '../../store/store.ts';
import type { MessageQueue } from '../messages/messages.ts';

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

type Lines = Pick<NewComment, 'path' | 'side' | 'line' | 'endLine'>;

/** Returns the lines that a comment is about, and the content that has them. @throws Rejection `bad_request` if there are none */
async function linesAt(
  contents: Contents,
  { path, side, line, endLine = line }: Lines,
  { base, tree, files }: Pick<StageDiff, 'base' | 'tree' | 'files'>,
): Promise<{ version: string; quote: string }> {
  if (endLine < line) throw new Rejection('bad_request', 'The last line is before the first one.');
  const [before, after] = files.find((file) => file.path === path)?.version.split('..') ?? [];
  const changed = side === 'old' ? before : after;
  const version = changed ?? (await contents.versionIn(side === 'old' ? base : tree, path));
  const lines = version === null || version === '' ? null : await contents.lines(version);
  if (version === null || lines === null) {
    const when = side === 'old' ? 'before the changes' : 'with the changes';
    throw new Rejection('bad_request', `There is no text file ${path} ${when}.`);
  }
  if (endLine > lines.length)
    throw new Rejection('bad_request', `${path} has ${lines.length} lines there, so there is no line ${endLine}.`);
  return { version, quote: quoteOf(lines.slice(line - 1, endLine)) };
}

/** A finding with the content that has its lines. */
type Placed = Omit<ReviewFinding, 'endLine'> & Pick<CommentRecord, 'endLine' | 'version' | 'quote'>;

/** Finds the lines of findings in the changes that Claude was given. What names lines that are not there keeps its words, with why. */
export function pathFindingsOf(
  worktrees: Pick<Worktrees, 'withContents'>,
  worktree: Worktree,
  diff: StageDiff,
  findings: readonly ReviewFinding[],
): Promise<{ comments: Placed[]; misplaced: MisplacedFinding[] }> {
  return worktrees.withContents(worktree, async (contents) => {
    const comments: Placed[] = [];
    const misplaced: MisplacedFinding[] = [];
    for (const found of findings) {
      const finding = { ...found, path: withinWorktree(found.path, worktree.path) };
      try {
        const place = await linesAt(contents, finding, diff);
        comments.push({ ...finding, endLine: finding.endLine ?? finding.line, ...place });
      } catch (error) {
        if (!(error instanceof Rejection)) throw error;
        misplaced.push({ ...finding, why: error.message });
      }
    }
    return { comments, misplaced };
  });
}

/** Claude reads files under their absolute paths, and names them so at times. */
function withinWorktree(path: string, worktree: string): string {
  const relative = path.startsWith(`${worktree}/`) ? path.slice(worktree.length + 1) : path;
  return relative.replace(/^(?:\.\/)+/, '');
}

type Sent = Pick<ReviewComment, 'path' | 'side' | 'line' | 'endLine' | 'quote' | 'text' | 'hasMoved' | 'isFinding'>;

/** Returns the message that Claude gets for comments on its changes: file and lines, the code as it was quoted, and the text. */
export function reviewMessage(comments: readonly Sent[]): string {
  const lead =
    comments.length === 1
      ? 'Please address this comment on your changes.'
      : `Please address these ${comments.length} comments on your changes.`;
  const parts = comments.map((comment, at) => {
    const number = comments.length === 1 ? '' : `${at + 1}. `;
    return `${number}${locationText(comment)}\n${fenced(comment.quote)}\n${comment.text.trim()}`;
  });
  return [lead, ...parts].join('\n\n').toWellFormed();
}

/** Names the file and the lines, and the version of the file if that is not the present one. */
function locationText({ path, side, line, endLine, hasMoved, isFinding }: Sent): string {
  const lines = line === endLine ? `line ${line}` : `lines ${line} to ${endLine}`;
  const remarks = [
    ...(side === 'old' ? ['in the version before your changes'] : []),
    ...(hasMoved ? ['this code has changed since'] : []),
    ...(isFinding ? ['from your own review'] : []),
  ];
  return `${path}, ${lines}${remarks.length === 0 ? '' : ` (${remarks.join('; ')})`}:`;
}

const MAX_LINES = 40;
const MAX_CHARACTERS = 8_000;

/** Returns the quote of lines. Of many lines, the first and the last ones; a very long line is cut. */
export function quoteOf(lines: readonly string[]): string {
  const left = lines.length - MAX_LINES;
  const saved =
    left <= 0 ? lines : [...lines.slice(0, MAX_LINES - 10), `[${left} lines left out]`, ...lines.slice(-10)];
  const each = Math.floor(MAX_CHARACTERS / Math.max(1, saved.length));
  const total = saved.reduce((sum, line) => sum + line.length, 0);
  if (total <= MAX_CHARACTERS) return saved.join('\n');
  return saved.map((line) => (line.length > each ? `${line.slice(0, each)}…` : line)).join('\n');
}

interface FollowDeps {
  store: Store;
  worktrees: Pick<Worktrees, 'withContents'>;
  /** Where lines are after a change. */
  followLines: (hunks: readonly LineHunk[], range: LineRange) => LineRange & { hasMoved: boolean };
}

type Location = Pick<CommentRecord, 'path' | 'line' | 'endLine' | 'version' | 'hasMoved'>;

/**
 * Returns what lets the comments of a stage follow the code whenever somebody looks at its changes: their lines stay those that
 * the person meant, and changed ones are marked.
 */
export function createCommentFollower({ store, worktrees, followLines }: FollowDeps) {
  const exclusively = createKeyedMutex();

  async function pathsIn(contents: Contents, diff: StageDiff, comments: readonly CommentRecord[]) {
    const known = new Map<string, LineHunk[] | null>();
    const hunks = async (from: string, to: string) => {
      const key = `${from} ${to}`;
      const found = known.has(key) ? (known.get(key) ?? null) : await contents.hunks(from, to);
      known.set(key, found);
      return found;
    };
    const places = new Map<string, Location>();
    for (const comment of comments) {
      const { path, version } = await fileNow(contents, diff, comment);
      if (path === comment.path && version === comment.version) continue;
      places.set(comment.id, { ...(await positionIn(comment, version, hunks)), path });
    }
    return places;
  }

  async function positionIn(
    comment: CommentRecord,
    version: string,
    hunks: (from: string, to: string) => Promise<LineHunk[] | null>,
  ): Promise<Omit<Location, 'path'>> {
    const { origin, line, endLine } = comment;
    if (version === origin.version) return { ...origin, hasMoved: false };
    const changes = version === '' || origin.version === '' ? null : await hunks(origin.version, version);
    if (changes === null) return { line, endLine, version, hasMoved: true };
    return { ...followLines(changes, origin), version };
  }

  return async (stageId: StageId, diff: StageDiff): Promise<void> => {
    if ((await store.read.comments.listOf(stageId)).length === 0) return;
    const worktree = (await store.read.stages.find(stageId))?.worktree ?? null;
    if (worktree === null) return;
    await exclusively(stageId, async () => {
      const comments = await store.read.comments.listOf(stageId);
      const places = await worktrees.withContents(worktree, (contents) => pathsIn(contents, diff, comments));
      if (places.size === 0) return;
      await store.transact(
        async (tx) => {
          for (const comment of await tx.comments.listOf(stageId)) {
            const place = places.get(comment.id);
            if (place !== undefined) await tx.comments.save({ ...comment, ...place });
          }
          await sendComments(tx, stageId);
        },
        { sync: 'later' },
      );
    });
  };
}

/** The file that a comment is on, as the changes name it now, and the version of its side; empty if it is gone. */
async function fileNow(
  contents: Contents,
  { base, tree, files }: StageDiff,
  { path, side }: CommentRecord,
): Promise<{ path: string; version: string }> {
  const file = files.find((one) => one.path === path) ?? files.find((one) => one.oldPath === path);
  if (file === undefined)
    return { path, version: (await contents.versionIn(side === 'old' ? base : tree, path)) ?? '' };
  const [before = '', after = ''] = file.version.split('..');
  return { path: file.path, version: side === 'old' ? before : after };
}

/** Which files of a stage's changes each person has viewed, in which version. */
export interface Viewed {
  /** @throws Rejection `unknown_stage` */
  list(stageId: StageId, person: string): Promise<ViewedFiles>;
  /** Ticks a version of a file as viewed, or takes the tick back (null). @throws Rejection `unknown_stage` */
  set(stageId: StageId, file: { path: string; version: string | null }, person: string): Promise<ViewedFiles>;
}

export function createViewed({ store }: { store: Store }): Viewed {
  return {
    async list(stageId, person) {
      await requireStage(store.read, stageId);
      return store.read.viewed.listOf(stageId, person);
    },
    set: (stageId, { path, version }, person) =>
      store.transact(async (tx) => {
        await requireStage(tx, stageId);
        if (version === null) await tx.viewed.remove(stageId, person, path);
        else await tx.viewed.save(stageId, person, { path, version });
        await tx.emit({ type: 'viewed-updated', data: { stageId, person } });
        return tx.viewed.listOf(stageId, person);
      }),
  };
}

export interface CommentDeps {
  comments: Comments;
  viewed: Viewed;
}

type CommentCommands =
  | 'get_comments'
  | 'add_comment'
  | 'edit_comment'
  | 'remove_comment'
  | 'send_comments'
  | 'get_viewed'
  | 'set_viewed';

export const commentCommands = ({ comments, viewed }: CommentDeps): Pick<CommandHandlers, CommentCommands> => ({
  get_comments: async ({ stageId }, { actor }) => ({ comments: await comments.list(stageId, actor.name) }),
  add_comment: async ({ stageId, ...comment }, { actor }) => ({
    comment: await comments.add(stageId, comment, actor.name),
  }),
  edit_comment: async ({ stageId, commentId, text }, { actor }) => ({
    comment: await comments.edit(stageId, commentId, text, actor.name),
  }),
  remove_comment: async ({ stageId, commentId }, { actor }) => ({
    comment: await comments.remove(stageId, commentId, actor.name),
  }),
  send_comments: ({ stageId, ids }, { actor }) => comments.send(stageId, ids, actor.name),
  get_viewed: async ({ stageId }, { actor }) => ({ viewed: await viewed.list(stageId, actor.name) }),
  set_viewed: async ({ stageId, ...file }, { actor }) => ({ viewed: await viewed.set(stageId, file, actor.name) }),
});
