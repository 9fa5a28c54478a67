import type { MessageId, Project, Stage, StageId, TranscriptEntry, Worktree } from '@callboard/contract';
import type { ConversationLocation } from '../claude/conversation-place.ts';
import { Rejection } from '../lib/errors.ts';
import type { ConversationState, TurnMark } from '../store/going-back-records.ts';
import { MAX_MARKS } from '../store/ports/review-tables.ts';
import type { SessionRecord } from '../store/records.ts';
import { requireProject, requireStage } from '../store/require.ts';
import type { Store } from '../store/store.ts';

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
export const LOOKBACK = 500;

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

export const isOfTurn = ({ kind }: TranscriptEntry): boolean =>
  ['user', 'text', 'thinking', 'tool-use', 'tool-result'].includes(kind);

/** Whether the next message begins a turn: nothing of a turn that still runs is among the entries before it. */
export function beginsTurn(earlier: readonly TranscriptEntry[]): boolean {
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
