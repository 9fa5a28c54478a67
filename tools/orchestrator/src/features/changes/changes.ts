import {
  type CommandReply,
  type ContentQuery,
  countOf,
  type DiffQuery,
  isMidTurn,
  type Project,
  type ProjectId,
  type Stage,
  type StageDiff,
  type StageId,
  type Worktree,
} from '@callboard/contract';
import type { CommandHandlers } from '../../core/commands/command-handler.ts';
import type { LowPriorityWork } from '../../core/executor/low-priority-work.ts';
import { changeSession } from '../../core/session/change-session.ts';
import { pageOf } from '../../core/worktrees/diff.ts';
import type { Worktrees } from '../../core/worktrees/worktrees.ts';
import { createKeyedMutex } from '../../lib/async.ts';
import { Rejection } from '../../lib/errors.ts';
import type { TurnMark } from '../../store/records.ts';
import { onSessionChange, requireProject, requireStage, type Store, unknownStage } from '../../store/store.ts';

interface ChangeCountsDeps {
  store: Store;
  worktrees: Pick<Worktrees, 'saveChanges' | 'dropTurns'>;
  lowPriorityWork: Pick<LowPriorityWork, 'add'>;
  /** Gets each diff that was counted. */
  onDiff: (stageId: StageId, diff: StageDiff) => Promise<void>;
}

/**
 * Counts the changes in a worktree after each turn, when its session is quiet, so cards can show them and reading the board
 * runs no git. Marks the files of that moment, so that the changes of the next turn can be shown. Counts one worktree at a time,
 * and at the start whatever was missed.
 * @returns how to stop; a running count is low-priority work and ends with that
 */
export async function startChangeCounts(deps: ChangeCountsDeps): Promise<() => void> {
  const { store, worktrees, lowPriorityWork, onDiff } = deps;
  const exclusively = createKeyedMutex();

  async function count(stageId: StageId, signal: AbortSignal): Promise<void> {
    const record = await store.read.sessions.find(stageId);
    const stage = await store.read.stages.find(stageId);
    const project = stage === null ? null : await store.read.projects.find(stage.projectId);
    const worktree = stage?.worktree ?? null;
    const turn = record?.lastTurn?.at;
    if (project === null || worktree === null || turn === undefined || turn === record?.changesCountedFor) return;
    signal.throwIfAborted(); // other worktrees were counted first
    // Kept before the mark that names it: a mark never names files that are gone.
    const { commit, diff } = await worktrees.saveChanges(project, worktree, { stageId, name: turn }, signal);
    const isMarked = await store.transact(
      async (tx) => {
        if ((await tx.sessions.find(stageId)) === null) return false; // the stage was deleted meanwhile
        const { turnRunning, lastTurn, goingBack, ...session } = await changeSession(tx, stageId, (change) => {
          change.record = { ...change.record, changes: countOf(diff), changesCountedFor: turn };
        });
        // Otherwise the files may already be those of the next turn.
        if (turnRunning || goingBack !== null || lastTurn?.at !== turn) return false;
        const { transcriptLength: place, sessionId: conversationId, phaseIndex } = session;
        await tx.turnMarks.save(stageId, { at: turn, tree: diff.tree, commit, place, conversationId, phaseIndex });
        return true;
      },
      { sync: 'later' },
    );
    if (!isMarked) await worktrees.dropTurns(project, stageId, turn);
    await onDiff(stageId, diff);
  }

  const want = (stageId: StageId): void =>
    lowPriorityWork.add(stageId, 'changes', (signal) => exclusively('all', () => count(stageId, signal)));

  const unlisten = onSessionChange(store, ['lastTurn'], ({ stageId, lastTurn }) => {
    if (lastTurn !== null) want(stageId);
  });
  for (const { stageId } of await store.read.sessions.list()) want(stageId);
  return unlisten;
}

/** Reads files in the worktrees of stages and in the main checkouts of projects. */
export interface WorktreeFiles {
  /** Returns the diff of a worktree. @throws Rejection `unknown_stage`; `no_session` before the stage's first start */
  diff(stageId: StageId, query: DiffQuery): Promise<StageDiff>;
  /** Returns a file's contents before and after its change. @throws as `diff` */
  content(stageId: StageId, query: ContentQuery): Promise<CommandReply<'get_diff_content'>>;
  /** Returns paths that match the query. @throws Rejection `unknown_stage`; `no_session` before the stage's first start */
  suggest(stageId: StageId, query: string): ReturnType<Worktrees['suggestFiles']>;
  /** Returns paths of the main checkout that match the query. @throws Rejection `unknown_project` */
  suggestIn(projectId: ProjectId, query: string): ReturnType<Worktrees['suggestFiles']>;
  /** Returns the branches of a project. @throws Rejection `unknown_project` */
  branches(projectId: ProjectId): ReturnType<Worktrees['branches']>;
}

interface WorktreeFilesDeps {
  store: Store;
  worktrees: Worktrees;
  /** Gets each diff of all changes, before anybody sees it. */
  onDiff: (stageId: StageId, diff: StageDiff) => Promise<void>;
}

export function createWorktreeFiles({ store, worktrees, onDiff }: WorktreeFilesDeps): WorktreeFiles {
  function worktreeOf({ id, worktree }: Stage): Worktree {
    if (worktree === null) throw new Rejection('no_session', `${id} has no worktree yet. Start the stage first.`);
    return worktree;
  }

  async function locationOf(stageId: StageId): Promise<{ project: Project; worktree: Worktree }> {
    const stage = await requireStage(store.read, stageId);
    const worktree = worktreeOf(stage);
    const project = await store.read.projects.find(stage.projectId);
    if (project === null) throw unknownStage(stageId);
    return { project, worktree };
  }

  return {
    async diff(stageId, query) {
      const { project, worktree } = await locationOf(stageId);
      if (query.range === 'turn') {
        const begun = await turnBegan(store, stageId);
        const diffSince = (base: string) => worktrees.diff(project, worktree, { ...query, base });
        const diff = await diffSince(begun?.tree ?? worktree.base).catch((error: unknown) => {
          // Git may have removed a tree that is on no ref; the commit lacks only large files and nested repositories.
          if (begun === null || begun.commit === null) throw error;
          return diffSince(begun.commit);
        });
        return { ...diff, since: begun?.at ?? null };
      }
      const { from, limit, ...of } = query;
      if (Object.keys(of).length > 0) return worktrees.diff(project, worktree, query);
      const diff = await worktrees.diff(project, worktree);
      await onDiff(stageId, diff);
      const { wanted, ...total } = pageOf(diff.files, query);
      return { ...diff, ...total, files: [...wanted] };
    },
    async content(stageId, { path, base, tree }) {
      const { worktree } = await locationOf(stageId);
      return worktrees.withContents(worktree, (contents) => contents.beforeAndAfter(base, tree, path));
    },
    suggest: async (stageId, query) =>
      worktrees.suggestFiles(worktreeOf(await requireStage(store.read, stageId)), query),
    suggestIn: async (projectId, query) => worktrees.suggestFiles(await requireProject(store.read, projectId), query),
    branches: async (projectId) => worktrees.branches(await requireProject(store.read, projectId)),
  };
}

/** The mark from before the running turn, or from before the last one if none runs; null if that was the first. */
async function turnBegan({ read }: Store, stageId: StageId): Promise<TurnMark | null> {
  const session = await read.sessions.find(stageId);
  const isRunning = session !== null && (session.turnRunning || isMidTurn(session.state));
  return read.turnMarks.newestOf(stageId, isRunning ? undefined : session?.lastTurn?.at);
}

type ChangesCommands = 'get_diff' | 'get_diff_content' | 'suggest_files' | 'suggest_project_files' | 'get_branches';

export const changesCommands = ({ files }: { files: WorktreeFiles }): Pick<CommandHandlers, ChangesCommands> => ({
  get_diff: async ({ stageId, ...query }) => ({ diff: await files.diff(stageId, query) }),
  get_diff_content: ({ stageId, ...query }) => files.content(stageId, query),
  suggest_files: async ({ stageId, query = '' }) => ({ files: await files.suggest(stageId, query) }),
  suggest_project_files: async ({ projectId, query = '' }) => ({ files: await files.suggestIn(projectId, query) }),
  get_branches: ({ projectId }) => files.branches(projectId),
});
