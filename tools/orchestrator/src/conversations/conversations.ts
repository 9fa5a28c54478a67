import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import type { AdoptBody, Conversation, ConversationList, Project, ProjectId, Stage } from '@callboard/contract';
import { type ConversationRecord, createConversationList } from '../claude/conversations/list-conversations.ts';
import { openConversations } from '../claude/conversations/open-conversations.ts';
import { Rejection } from '../lib/errors.ts';
import { createKeyedMutex } from '../lib/keyed-mutex.ts';
import type { Stages } from '../stages/stages.ts';
import { requireProject } from '../store/require.ts';
import type { Store } from '../store/store.ts';
import type { Checkout } from '../worktrees/checkouts.ts';
import type { Worktrees } from '../worktrees/worktrees.ts';
import { adoptConversation, requireNotAdopted } from './adopt-conversation.ts';

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
