import {
  MessageId,
  type Project,
  type Stage,
  type StageId,
  type TranscriptEntry,
  type Worktree,
} from '@callboard/contract';
import { messageOf } from '@callboard/runtime/errors';
import type { ConversationLocation } from '../../core/claude/conversation-file.ts';
import { changeSession } from '../../core/session/change-session.ts';
import { addNotice } from '../../core/session/session-change.ts';
import type { Worktrees } from '../../core/worktrees/worktrees.ts';
import { Rejection } from '../../lib/errors.ts';
import type { Logger } from '../../platform/runtime.ts';
import { MAX_MARKS } from '../../store/ports/stage-port.ts';
import type { ConversationState, OutboxRow, SessionRecord, TurnMark } from '../../store/records.ts';
import { requireProject, requireStage, type Store } from '../../store/store.ts';

/** A stage that has begun. */
export interface Location {
  stage: Stage;
  project: Project;
  worktree: Worktree;
  session: SessionRecord;
}

/** The moment before a message. What cannot go back says why. */
export interface Moment {
  message: Extract<TranscriptEntry, { kind: 'user' }>;
  /** `head`: the commit that the worktree was at. `at`: when the files were kept; null: as they were when the stage began. */
  files: { target: string; head: string; at: string | null } | string;
  conversation: { state: ConversationState; at: string | null; id: string } | string;
}

export interface MomentDeps {
  store: Store;
  /** Returns where a conversation of Claude Code stood before a message. */
  positionBefore: (conversationId: string, messageId: string) => Promise<ConversationLocation>;
}

/** How many entries before a message are looked at. */
const LOOKBACK = 500;

const NOT_SAVED =
  'The files before this message were not kept: it was sent before Callboard had recorded them. Choose another message.';
const TOO_OLD = `The files before this message are no longer kept: Callboard keeps those of the newest ${MAX_MARKS} turns. Choose a later message.`;
const UNKNOWN =
  'Claude Code’s record of the conversation does not have this message as the beginning of a turn. Choose the message before it.';
const COMPACTED = 'Claude Code has summarised the conversation since, and no longer reads what was said before.';

/** What a moment is looked for, and what can be done where it is not to be had. */
export interface MomentTexts {
  /** In place of a message that was sent into a running turn. */
  running: string;
  compacted: string;
}

export const REWINDING: MomentTexts = {
  running: 'Go back to the message that began the turn.',
  compacted: 'Only the files can go back.',
};

export const FORKING: MomentTexts = {
  running: 'Fork from the message that began the turn.',
  compacted: 'Fork from a later message, or from the present state.',
};

/** @throws Rejection `unknown_stage`, `no_session` before the stage's first start */
export async function requireConversation(store: Store, stageId: StageId): Promise<Location> {
  const stage = await requireStage(store.read, stageId);
  const project = await requireProject(store.read, stage.projectId);
  const session = await store.read.sessions.find(stageId);
  if (stage.worktree === null || session === null)
    throw new Rejection('no_session', `${stageId} has no session: it was never started. Start the stage first.`);
  return { stage, project, worktree: stage.worktree, session };
}

/**
 * Returns the moment before a message that began a turn.
 * @throws Rejection `unknown_message`; `cannot_go_back` for a message that did not begin a turn
 */
export async function findMoment(
  deps: MomentDeps,
  location: Location,
  { messageId, text }: { messageId: MessageId; text: MomentTexts },
): Promise<Moment> {
  const { store } = deps;
  const { id: stageId } = location.stage;
  const message = await store.read.transcript.findMessage(stageId, messageId);
  if (message === null)
    throw new Rejection('unknown_message', `${stageId} has no message ${messageId} in its transcript.`);
  const page = { after: undefined, before: message.index, limit: LOOKBACK };
  const earlier = await store.read.transcript.page(stageId, page);
  if (!beginsTurn(earlier)) {
    throw new Rejection('cannot_go_back', `This message was sent into a running turn. ${text.running}`);
  }
  const mark = await store.read.turnMarks.newestBefore(stageId, message.index);
  return {
    message,
    files: (await notSavedReason(store, message)) ?? (await filesBefore(deps, location, { message, earlier, mark })),
    conversation: await conversationBefore(deps, location, { message, mark, isFirst: !earlier.some(isOfTurn), text }),
  };
}

const isTurnEnd = ({ kind }: TranscriptEntry): boolean => kind === 'turn-end';

const isOfTurn = ({ kind }: TranscriptEntry): boolean =>
  ['user', 'text', 'thinking', 'tool-use', 'tool-result'].includes(kind);

/** Whether the next message begins a turn: nothing of a turn that still runs is among the entries before it. */
function beginsTurn(earlier: readonly TranscriptEntry[]): boolean {
  const isEnd = (entry: TranscriptEntry) =>
    isTurnEnd(entry) || (entry.kind === 'notice' && ['process-ended', 'gone-back'].includes(entry.code));
  const isOfMain = (entry: TranscriptEntry) => entry.parentToolUseId === null && isOfTurn(entry);
  const last = earlier.findLast((entry) => isEnd(entry) || isOfMain(entry));
  return last === undefined || isEnd(last);
}

/** Returns what the transcript says of files that could not be kept when the message was sent; null if it says nothing. */
async function notSavedReason({ read }: Store, { stageId, index }: Moment['message']): Promise<string | null> {
  const next = await read.transcript.page(stageId, { after: index, before: undefined, limit: SOON });
  const until = next.findIndex(({ kind }) => kind === 'user');
  const said = (until === -1 ? next : next.slice(0, until)).find(isNotSavedNotice);
  return said?.kind === 'notice' ? said.text : null;
}

/** How many entries after a message are looked at. */
const SOON = 20;

const isNotSavedNotice = (entry: TranscriptEntry): boolean =>
  entry.kind === 'notice' && entry.code === 'files-not-kept';

interface FoundBefore {
  message: Moment['message'];
  earlier: readonly TranscriptEntry[];
  mark: TurnMark | null;
}

async function filesBefore(
  { store }: MomentDeps,
  { stage, worktree }: Location,
  { earlier, mark }: FoundBefore,
): Promise<Moment['files']> {
  const newest = earlier.findLast(isOfTurn);
  if (mark === null && newest === undefined && earlier.length < LOOKBACK)
    return { target: stage.origin?.tree ?? worktree.base, head: stage.origin?.commit ?? worktree.base, at: null };
  if (mark === null || mark.commit === null)
    return (await store.read.turnMarks.countOf(stage.id)) < MAX_MARKS ? NOT_SAVED : TOO_OLD;
  if (newest !== undefined && newest.index > (mark.place ?? 0)) return NOT_SAVED;
  return { target: mark.commit, head: `${mark.commit}^1`, at: mark.at };
}

interface Before {
  message: Moment['message'];
  mark: TurnMark | null;
  isFirst: boolean;
  text: MomentTexts;
}

async function conversationBefore(
  { store, positionBefore }: MomentDeps,
  { stage, session }: Location,
  { message, mark, isFirst, text }: Before,
): Promise<Moment['conversation']> {
  const others = await store.read.turnMarks.conversationsOf(stage.id);
  const known = [session.sessionId, session.forkOf?.fork ?? null, ...others];
  for (const id of new Set(known.filter((one) => one !== null))) {
    const found = await positionBefore(id, String(message.messageId));
    if (found.kind === 'compacted') return `${COMPACTED} ${text.compacted}`;
    if (found.kind === 'unknown') continue;
    const { at } = found;
    const forkOf = at === null ? null : { fork: id, until: at };
    const phaseIndex = mark?.phaseIndex ?? (isFirst ? 0 : session.phaseIndex);
    return { id, at, state: { ...IDLE, forkOf, phaseIndex } };
  }
  return UNKNOWN;
}

/** A conversation that waits for the next message, with nothing of what was said since. */
const IDLE: Omit<ConversationState, 'forkOf' | 'phaseIndex'> = {
  sessionId: null,
  costCounted: 0,
  tokensCounted: 0,
  atGate: false,
  check: null,
  turnToFollow: false,
  turnMessages: [],
  todos: [],
  contextUsage: null,
  lastTurn: null,
  openDenial: null,
  queueHeld: true,
};

export interface SnapshotBeforeDeps {
  store: Store;
  worktrees: Pick<Worktrees, 'snapshotTurn'>;
  log: Logger;
  /** How long a message waits for its files to be kept. */
  limitMs: number;
}

/**
 * Keeps the files from before a message that begins a turn, before Claude gets it: unless they were kept since the turn before it, so
 * that every message can be gone back to. If they cannot be kept, the message is sent nevertheless, and its transcript says why.
 */
export type SnapshotBeforeMessage = (row: OutboxRow, until: SnapshotConditions) => Promise<void>;

interface SnapshotConditions {
  /** Awaited before git runs in the worktree; its rejection is passed on. */
  placed: Promise<void> | undefined;
  signal: AbortSignal;
}

export function createSnapshotBeforeMessage({
  store,
  worktrees,
  log,
  limitMs,
}: SnapshotBeforeDeps): SnapshotBeforeMessage {
  return async ({ stageId, wireId }, { placed, signal }) => {
    const finding = findDue(store, stageId, wireId);
    finding.catch(() => undefined); // reported below, unless the worktree is not in its place
    await placed;
    try {
      const due = await finding;
      if (due === null) return;
      const { worktree, session, place } = due;
      const limited = AbortSignal.any([signal, AbortSignal.timeout(limitMs)]);
      try {
        const { commit, tree } = await worktrees.snapshotTurn(worktree, { stageId, name: `before-${wireId}` }, limited);
        const { sessionId: conversationId, phaseIndex, lastTurn } = session;
        await store.transact(
          (tx) =>
            tx.turnMarks.save(stageId, { at: lastTurn?.at ?? tx.now, tree, commit, place, conversationId, phaseIndex }),
          { sync: 'later' },
        );
      } catch (error) {
        if (signal.aborted) return;
        const cause = limited.aborted ? `Git took longer than ${limitMs / 1_000} s.` : messageOf(error);
        const text = `The files before this message were not kept, so they cannot be restored to it: ${cause}`;
        await store.transact((tx) =>
          changeSession(tx, stageId, (change) =>
            addNotice(change, tx.now, { level: 'warning', code: 'files-not-kept', text }),
          ),
        );
      }
    } catch (error) {
      log.warn({ err: error, stageId }, 'keeping the files before a message failed');
    }
  };
}

/** Returns what is to be kept for a message; null if it begins no turn, or if its files were kept. */
async function findDue({ read }: Store, stageId: StageId, wireId: string) {
  const [session, stage, newest] = await Promise.all([
    read.sessions.find(stageId),
    read.stages.find(stageId),
    read.turnMarks.newestOf(stageId),
  ]);
  const worktree = stage?.worktree ?? null;
  // With `turnBegun`, it joins the turn that runs.
  if (session === null || worktree === null || session.turnBegun) return null;
  // As nearly always: nothing but this message has been said since.
  if (newest?.commit != null && (newest.place ?? 0) >= session.transcriptLength - 1) return null;
  const message = await read.transcript.findMessage(stageId, MessageId.parse(wireId));
  if (message === null) return null;
  const mark = await read.turnMarks.newestBefore(stageId, message.index);
  const place = message.index - 1;
  const since = place - (mark?.place ?? 0);
  const limit = Math.min(since, LOOKBACK);
  const earlier =
    limit <= 0 ? [] : await read.transcript.page(stageId, { after: undefined, before: message.index, limit });
  if (!earlier.some(isOfTurn) || !beginsTurn(earlier)) return null;
  // It was given to a process before, which may have acted on it.
  const later = await read.transcript.page(stageId, { after: message.index, before: undefined, limit: LOOKBACK });
  return later.some(isOfTurn) ? null : { worktree, session, place };
}
