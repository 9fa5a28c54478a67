import type { NewTranscriptEntry, RepositoryHook, StageId, Worktree } from '@callboard/contract';
import { changeSession } from '../session-state/change-session.ts';
import { addEntry } from '../session-state/draft.ts';
import type { Store } from '../store/store.ts';
import type { Worktrees } from '../worktrees/worktrees.ts';
import { requireStage } from './begin-launch.ts';

/** Where a launch works, and what the repository brings along. */
export interface LaunchPlace {
  cwd: string;
  /** The repository's allow rules, if its project passes them. */
  repositoryRules: string[];
  /** The repository's hooks, if its project does not run them. */
  hooksOff: RepositoryHook[];
}

/** Makes or finds the stage's worktree, and keeps it in the stage. @throws OperationalError `worktree_failed` */
export async function prepareWorktree(
  { store, worktrees }: { store: Store; worktrees: Worktrees },
  stageId: StageId,
): Promise<LaunchPlace> {
  const stage = await store.read.stages.find(stageId);
  const project = stage === null ? null : await store.read.projects.find(stage.projectId);
  if (stage === null || project === null) throw new Error(`${stageId} or its project is gone`);
  const told: string[] = [];
  const worktree = await worktrees.ensure(project, stageId, stage.worktree, (notice) => told.push(notice));
  if (told.length > 0 || !isSame(stage.worktree, worktree)) {
    await store.transact(async (tx) => {
      await changeSession(tx, stageId, (draft) => {
        for (const text of told) addEntry(draft, tx.now, worktreeNotice(text));
      });
      const updated = { ...(await requireStage(tx, stageId)), worktree, updatedAt: tx.now };
      await tx.stages.update(updated);
      await tx.emit({ type: 'stage-updated', data: { stageId, stage: updated } });
    });
  }
  const { passRepositoryRules, runRepositoryHooks } = project.settings;
  return {
    cwd: worktree.path,
    repositoryRules: passRepositoryRules ? await worktrees.allowRules(project) : [],
    hooksOff: runRepositoryHooks ? [] : await worktrees.hooks(project, worktree),
  };
}

const isSame = (one: Worktree | null, other: Worktree): boolean =>
  one?.path === other.path && one.branch === other.branch && one.base === other.base;

const worktreeNotice = (text: string): NewTranscriptEntry => ({
  kind: 'notice',
  parentToolUseId: null,
  level: 'warning',
  code: 'worktree',
  text,
});

/** Said in the transcript of every launch whose hooks are off: nobody is to believe that they ran. */
export function hooksOffNotice(hooks: readonly RepositoryHook[]): NewTranscriptEntry {
  const named = [...new Set(hooks.map(({ event, file }) => `${event} (${file})`))].join(', ');
  const text = `All hooks are off in this session, your own too: the repository has some that nobody has agreed to, ${named}. A hook may allow tools without anybody being asked. The project's rules list them and can have them run from the next start on.`;
  return { kind: 'notice', parentToolUseId: null, level: 'warning', code: 'hooks-off', text };
}
