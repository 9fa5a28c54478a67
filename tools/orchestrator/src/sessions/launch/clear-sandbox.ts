import { rm } from 'node:fs/promises';
import { sandboxScript } from '../../claude/sandbox/sandbox-environment.ts';
import type { LaunchRecord } from '../../store/records.ts';
import type { Store } from '../../store/store.ts';
import type { Worktrees } from '../../worktrees/worktrees.ts';

interface ClearParts {
  store: Pick<Store, 'read'>;
  worktrees: Pick<Worktrees, 'clearSandbox'>;
  dataDir: string;
}

/**
 * Removes what the sandbox of a launch that is gone left in its worktree, if no other process of the stage has begun meanwhile; and in
 * the main checkout, if none of the project lives. @throws as `Worktrees.clearSandbox`
 */
export async function clearSandbox(
  { store, worktrees, dataDir }: ClearParts,
  { id, stageId }: Pick<LaunchRecord, 'id' | 'stageId'>,
): Promise<void> {
  const { read } = store;
  const stage = await read.stages.find(stageId);
  const project = stage === null ? null : await read.projects.find(stage.projectId);
  if (stage?.worktree == null || project === null) return;
  const others = (await read.launches.listNotEnded()).filter((launch) => launch.id !== id);
  if (others.some((launch) => launch.stageId === stageId)) return;
  await rm(sandboxScript(dataDir, stageId), { force: true });
  const stages = new Map((await read.stages.list()).map((one) => [one.id, one.projectId]));
  const isLast = !others.some((launch) => stages.get(launch.stageId) === project.id);
  await worktrees.clearSandbox(project, stage.worktree, isLast);
}
