import type { AdoptBody, Stage, WorktreeOrigin } from '@callboard/contract';
import { type ConversationHistory, conversationHistory } from '../claude/conversations/conversation-history.ts';
import type { ConversationRecord } from '../claude/conversations/list-conversations.ts';
import { saveChange } from '../domain/change-session.ts';
import { newSession } from '../domain/new-session.ts';
import { addEntry, addNotice, type SessionChange } from '../domain/session-change.ts';
import { SAID_ELSEWHERE } from '../domain/terminal.ts';
import { Rejection } from '../lib/errors.ts';
import type { Stages } from '../stages/stages.ts';
import { summaryOf } from '../store/records.ts';
import type { Tx } from '../store/store.ts';
import type { Checkout } from '../worktrees/checkouts.ts';
import type { Worktrees } from '../worktrees/worktrees.ts';

export interface AdoptDeps {
  worktrees: Pick<Worktrees, 'save'>;
  stages: Pick<Stages, 'create'>;
}

/** A conversation with the checkout that it was held in; null if that is gone. */
export interface Found {
  projectId: Stage['projectId'];
  record: ConversationRecord;
  checkout: Checkout | null;
}

/**
 * Makes a stage that goes on from a conversation: the stage, its session and what was said before are stored in one transaction.
 * Nothing is started; the copy of the conversation is made by Claude Code, at the first launch.
 */
export async function adoptConversation(
  { worktrees, stages }: AdoptDeps,
  { projectId, record, checkout }: Found,
  { title, uncommitted = true }: AdoptBody,
): Promise<Stage> {
  const history = await conversationHistory(record.file);
  if (history === null) throw new Rejection('unknown_conversation', 'Nothing was said in this conversation yet.');
  const { origin, missing } = await originOf(worktrees, { projectId, record, checkout }, uncommitted);
  const { conversationId, folder, branch } = record;
  return stages.create(
    { projectId, title: title ?? titleOf(record), prompt: record.firstWords },
    {
      async fields(tx) {
        requireNotAdopted(await tx.stages.list(), conversationId);
        const lastEntry = history.entries.length;
        return { origin, adopted: { conversationId, folder, branch, at: tx.now, lastEntry } };
      },
      also: (tx, stage) => beginSession(tx, stage, { ...history, missing }),
    },
  );
}

/** @throws Rejection `conversation_adopted` */
export function requireNotAdopted(stages: readonly Stage[], conversationId: string): void {
  const by = stages.find(({ adopted }) => adopted?.conversationId === conversationId);
  if (by === undefined) return;
  throw new Rejection(
    'conversation_adopted',
    `${by.id} (${by.title}) continues this conversation already. Open that stage.`,
  );
}

/** The files of the conversation's folder stay where they are; the stage gets a copy, which a ref keeps until its worktree has it. */
async function originOf(
  worktrees: AdoptDeps['worktrees'],
  { record, checkout }: Found,
  uncommitted: boolean,
): Promise<{ origin: WorktreeOrigin | null; missing: string[] }> {
  if (checkout === null) return { origin: null, missing: [] };
  const { path, commit, branch } = checkout;
  if (!uncommitted) return { origin: { commit, tree: null, ref: null, isTaken: true }, missing: [] };
  const ref = `refs/callboard/adopted/${record.conversationId}`;
  const worktree = { path, branch: branch ?? 'HEAD', base: commit };
  const { tree, leftOut } = await worktrees.save(worktree, { ref, message: `Files of ${path}` });
  const missing = leftOut.flatMap((one) => (one.reason === 'ignored' ? [] : [one.path]));
  return { origin: { commit, tree, ref, isTaken: false }, missing };
}

const MAX_TITLE_LENGTH = 80;

/** Returns the name of the conversation, or the beginning of its first line. */
function titleOf({ name, firstWords }: Pick<ConversationRecord, 'name' | 'firstWords'>): string {
  const line = (name ?? firstWords).trim().split('\n')[0]?.trim() ?? '';
  return line.length <= MAX_TITLE_LENGTH ? line : `${line.slice(0, MAX_TITLE_LENGTH - 3).trimEnd()}...`;
}

/** How many files are named that the worktree will lack. */
const NAMED = 10;

async function beginSession(
  tx: Tx,
  stage: Stage,
  { entries, leftOut, lastLine, missing }: ConversationHistory & { missing: readonly string[] },
): Promise<void> {
  const { adopted } = stage;
  if (adopted === null) throw new Error(`${stage.id} was not adopted`);
  const record = { ...newSession(stage, tx.now), forkOf: { fork: adopted.conversationId, until: lastLine } };
  const change: SessionChange = { before: record, record, entries: [], queueChanged: false, delivered: [] };
  for (const { at, entry } of entries) addEntry(change, at, entry);
  addEntry(change, tx.now, SAID_ELSEWHERE);
  const cut =
    leftOut === 0 ? '' : ` Of what was said before, ${leftOut} older entries are not shown; Claude knows them.`;
  const where = adopted.branch === null ? adopted.folder : `${adopted.folder} on ${adopted.branch}`;
  const named = [...missing.slice(0, NAMED), ...(missing.length > NAMED ? [`${missing.length - NAMED} more`] : [])];
  const lacks =
    named.length === 0
      ? ''
      : ` Its worktree will not have ${named.join(', ')}: repositories of their own, and files over 50 MB, are not copied.`;
  const text = `Continues a conversation from ${where}. Your next message starts Claude with a copy of it; the original stays as it is.${cut}${lacks}`;
  addNotice(change, tx.now, { level: 'info', code: 'adopted', text });
  const saved = await saveChange(tx, change);
  await tx.emit({ type: 'session-updated', data: summaryOf(saved) });
}
