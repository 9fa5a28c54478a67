import { type CommandInput, isActive, type StageId } from '@callboard/contract';
import { Rejection } from '../lib/errors.ts';
import type { Store } from '../store/store.ts';
import type { Worktrees } from '../worktrees/worktrees.ts';
import type { Stages } from './stages.ts';

export interface StageCompletionParts {
  store: Store;
  stages: Stages;
  worktrees: Pick<Worktrees, 'requireMergeable' | 'merge'>;
  /** Ends the stage's process if it is idle. Returns false if it got work at the same moment. */
  endIfIdle: (stageId: StageId, reason: string) => Promise<boolean>;
}

/**
 * Marks a stage done. Ends an idle process first, and merges the stage's branch on request.
 * @throws Rejection as `Stages.complete` and `Worktrees.merge` do; `stage_running` if the stage got work meanwhile
 */
export type CompleteStage = (input: CommandInput<'complete_stage'>) => Promise<void>;

export function createStageCompletion({ store, stages, worktrees, endIfIdle }: StageCompletionParts): CompleteStage {
  return async ({ stageId, merge = false, ...seen }) => {
    const stage = await store.read.stages.find(stageId);
    const project = stage === null ? null : await store.read.projects.find(stage.projectId);
    const session = await store.read.sessions.find(stageId);
    const toMerge = merge && stage?.completedAt === null && stage.worktree !== null ? stage.worktree : null;
    const isAtWork = session !== null && isActive(session.state);
    // Before the process is ended: a refusal would not bring it back.
    if (toMerge !== null && project !== null && !isAtWork) await worktrees.requireMergeable(project, toMerge, seen);
    if (stage !== null && stage.completedAt === null && project !== null && session?.state === 'idle') {
      if (!(await endIfIdle(stageId, 'Ended because its stage was completed.'))) {
        const message = `${stageId} got work at the same moment, so it was not completed. Wait until it is idle, or stop it first.`;
        throw new Rejection('stage_running', message);
      }
    }
    // Before the merge: a refusal after it would look as if nothing had happened.
    await stages.requireCompletable(stageId);
    if (toMerge !== null && project !== null) {
      await store.sync(); // a power cut must not lose the records of work that is merged
      await worktrees.merge(project, toMerge, seen);
    }
    await stages.complete(stageId);
  };
}
