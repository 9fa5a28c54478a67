import { readdir, readFile, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import type {
  AdoptBody,
  Conversation,
  ConversationList,
  Project,
  ProjectId,
  Stage,
  WorktreeOrigin,
} from '@callboard/contract';
import { systemCode } from '@callboard/runtime/errors';
import { identify } from '@callboard/runtime/process-identity';
import { z } from 'zod';
import { configFolder } from '../../core/claude/launch-options.ts';
import type { CommandHandlers } from '../../core/commands/command-handler.ts';
import type { BoardViews } from '../../core/session/board-views.ts';
import { saveChange } from '../../core/session/change-session.ts';
import { newSession } from '../../core/session/new-session.ts';
import { SAID_ELSEWHERE } from '../../core/session/rewind-rules.ts';
import { addEntry, addNotice, type SessionChange } from '../../core/session/session-change.ts';
import type { Stages } from '../../core/session/stages.ts';
import type { Checkout } from '../../core/worktrees/linked-worktrees.ts';
import type { Worktrees } from '../../core/worktrees/worktrees.ts';
import { createKeyedMutex } from '../../lib/async.ts';
import { Rejection } from '../../lib/errors.ts';
import { parseJson } from '../../lib/text.ts';
import { argumentsOf, COMMAND_MARKER, environmentOf, LAUNCH_MARKER, listPids } from '../../platform/process-table.ts';
import { summaryOf } from '../../store/records.ts';
import { requireProject, type Store, type Tx } from '../../store/store.ts';
import {
  type ConversationHistory,
  type ConversationRecord,
  conversationHistory,
  createConversationList,
} from './conversation-list.ts';

export interface MoveInDeps {
  views: BoardViews;
  conversations: Conversations;
}

type MoveInCommands = 'get_conversations' | 'adopt_conversation';

export function moveInCommands({ views, conversations }: MoveInDeps): Pick<CommandHandlers, MoveInCommands> {
  return {
    get_conversations: ({ projectId }) => conversations.list(projectId),
    adopt_conversation: async ({ projectId, ...order }) => ({
      stage: await views.stage((await conversations.adopt(projectId, order)).id),
    }),
  };
}

/** Conversations that were begun in a terminal, and the stages that go on from them. */
export interface Conversations {
  /**
   * Lists the conversations that were begun in the project's checkouts and their subfolders, without those of stages.
   * @throws Rejection `unknown_project`; OperationalError `worktree_failed`
   */
  list(projectId: ProjectId): Promise<ConversationList>;
  /**
   * Makes a stage that goes on from a conversation, which itself stays as it is.
   * @throws Rejection `unknown_project`, `unknown_conversation`, `conversation_adopted`; OperationalError `worktree_failed`
   */
  adopt(projectId: ProjectId, order: AdoptBody): Promise<Stage>;
}

export interface ConversationsDeps {
  store: Pick<Store, 'read'>;
  worktrees: Pick<Worktrees, 'save' | 'checkouts' | 'countUncommitted'>;
  stages: Pick<Stages, 'create'>;
  dataDir: string;
  /** The environment that Claude Code gets. */
  env: Readonly<Record<string, string>>;
}

/** How many conversations are listed; nobody looks through more, and each one is read. */
const MAX_LISTED = 300;

export function createConversations({ store, worktrees, stages, dataDir, env }: ConversationsDeps): Conversations {
  const lister = createConversationList(env);
  /** By conversation: a second request waits, and finds the stage of the first. */
  const adoptions = createKeyedMutex();

  async function recordsOf(project: Project) {
    const folder = join(dataDir, 'worktrees');
    const own = await realpath(folder).catch(() => folder); // there is none before the first stage
    const checkouts = (await worktrees.checkouts(project)).filter(({ path }) => !isIn(path, own));
    const ofStages = await store.read.sessions.list();
    const known = new Set(ofStages.map(({ sessionId }) => sessionId));
    const adopted = new Set((await store.read.stages.list()).map((stage) => stage.adopted?.conversationId));
    const isLeftOut = (id: string) => known.has(id) || adopted.has(id);
    const folders = [project.path, ...checkouts.map(({ path }) => path)];
    return { checkouts, ...(await lister.list({ folders, except: own, isLeftOut, limit: MAX_LISTED })) };
  }

  return {
    async list(projectId) {
      const project = await requireProject(store.read, projectId);
      const [{ checkouts, records, older }, open] = await Promise.all([recordsOf(project), openConversations(env)]);
      const used = checkouts.filter((checkout) =>
        records.some(({ folder }) => checkoutOf(folder, checkouts) === checkout),
      );
      const folders = used.map(async ({ path, branch }) => ({
        folder: path,
        branch,
        uncommitted: await worktrees.countUncommitted(path),
      }));
      return {
        conversations: records.map((record) => shown(record, open.has(record.conversationId))),
        older,
        folders: await Promise.all(folders),
        source: lister.source,
      };
    },

    async adopt(projectId, order) {
      const project = await requireProject(store.read, projectId);
      const { conversationId } = order;
      return adoptions(conversationId, async () => {
        requireNotAdopted(await store.read.stages.list(), conversationId);
        const { records, checkouts } = await recordsOf(project);
        const record = records.find((one) => one.conversationId === conversationId);
        if (record === undefined) throw unknown(conversationId, project);
        const found = { projectId, record, checkout: checkoutOf(record.folder, checkouts) };
        return adoptConversation({ worktrees, stages }, found, order);
      });
    },
  };
}

const isIn = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`);

/** The innermost checkout: a worktree may lie in the main one. */
const checkoutOf = (folder: string, checkouts: readonly Checkout[]): Checkout | null =>
  checkouts.filter(({ path }) => isIn(folder, path)).toSorted((a, b) => b.path.length - a.path.length)[0] ?? null;

const shown = (record: ConversationRecord, isOpen: boolean): Conversation => {
  const { file: _file, ...reported } = record;
  return { ...reported, isOpen };
};

const unknown = (id: string, { name }: Project): Rejection =>
  new Rejection(
    'unknown_conversation',
    `${name} has no conversation ${id} that is not already a stage. Reload the list.`,
  );

/** What each running Claude Code writes about itself into `sessions/<pid>.json`, and removes when it ends in order (seen with 2.1.330). */
const Running = z.object({
  pid: z.int().positive(),
  sessionId: z.string(),
  procStart: z.string(),
  cwd: z.string().nullish(),
});

type RunningClaude = Pick<z.infer<typeof Running>, 'pid' | 'sessionId' | 'cwd'>;

/**
 * Returns the conversations that a living Claude Code of this account has open, by id, with its process.
 * @param env the environment that Claude Code gets
 * @throws a system error, if the folder exists and cannot be read
 */
export async function openConversations(env: Readonly<Record<string, string>>): Promise<ReadonlyMap<string, number>> {
  return new Map((await runningClaudes(env)).map(({ sessionId, pid }) => [sessionId, pid]));
}

async function runningClaudes(env: Readonly<Record<string, string>>): Promise<RunningClaude[]> {
  const folder = join(configFolder(env), 'sessions');
  const names = await readdir(folder).catch((error: unknown) => {
    if (systemCode(error) !== 'ENOENT') throw error;
    return [];
  });
  const running: RunningClaude[] = [];
  for (const name of names) {
    if (!/^\d+\.json$/.test(name)) continue;
    const text = await readFile(join(folder, name), 'utf8').catch(() => ''); // it ended meanwhile
    const reported = Running.safeParse(parseJson(text)).data;
    // A killed process leaves its file, and another one may have its number by now.
    if (reported !== undefined && (await identify(reported.pid))?.startTime === reported.procStart)
      running.push(reported);
  }
  return running;
}

/**
 * Returns a living Claude Code, not started by Callboard, that may write a conversation: one that says that it has it open or works
 * in its folder, or whose command line resumes it. Null if none was found. A copy (`--fork-session`) leaves the original alone.
 * @param env the environment that Claude Code gets
 * @param folder where the conversation was held, without symbolic links
 * @throws a system error, if it cannot be found out
 */
export async function foreignClaude(
  env: Readonly<Record<string, string>>,
  { conversationId, folder }: { conversationId: string; folder: string },
): Promise<number | null> {
  const isThere = ({ sessionId, cwd }: RunningClaude) =>
    sessionId === conversationId || cwd === folder || cwd?.startsWith(`${folder}/`) === true;
  for (const { pid } of (await runningClaudes(env)).filter(isThere)) if (!(await isOurs(pid))) return pid;
  // It tells about itself a moment after its start, and an old release not at all.
  for (const pid of await listPids()) {
    const words = await argumentsOf(pid);
    const resumes = words.includes(conversationId) || words.some((word) => word.endsWith(`=${conversationId}`));
    if (resumes && !words.includes('--fork-session') && !(await isOurs(pid))) return pid;
  }
  return null;
}

const OURS = [`${LAUNCH_MARKER}=`, `${COMMAND_MARKER}=`];

/** Whether Callboard started a process. */
const isOurs = async (pid: number): Promise<boolean> =>
  (await environmentOf(pid))?.some((entry) => OURS.some((marker) => entry.startsWith(marker))) === true;

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
async function adoptConversation(
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
function requireNotAdopted(stages: readonly Stage[], conversationId: string): void {
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
