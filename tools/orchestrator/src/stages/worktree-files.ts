import {
  type CommandReply,
  type ContentQuery,
  type DiffQuery,
  isMidTurn,
  type Project,
  type ProjectId,
  type Stage,
  type StageDiff,
  type StageId,
  type Worktree,
} from '@callboard/contract';
import { Rejection } from '../lib/errors.ts';
import type { TurnMark } from '../store/going-back-records.ts';
import { requireProject, requireStage, unknownStage } from '../store/require.ts';
import type { Store } from '../store/store.ts';
import type { Worktrees } from '../worktrees/worktrees.ts';

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
      const diff = await worktrees.diff(project, worktree, query);
      if (Object.keys(query).length === 0) await onDiff(stageId, diff);
      return diff;
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
