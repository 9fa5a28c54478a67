import { readdir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { isChecking, type Project, type ProjectId, type Stage, StageId } from '@callboard/contract';
import { Rejection } from '../lib/errors.ts';
import { requireProject } from '../store/require.ts';
import type { Store } from '../store/store.ts';

/** The folder of a worktree, and whose it is. */
export interface Found {
  project: Project;
  /** Null if its stage was deleted. */
  stage: Stage | null;
  name: string;
  path: string;
}

/** The worktrees that Callboard made, as they are on the disk. */
export interface WorktreeFinder {
  /** @throws Rejection `unknown_project` */
  list(projectId: ProjectId): Promise<Found[]>;
  /** @throws Rejection `unknown_project`, `unknown_worktree` */
  one(projectId: ProjectId, name: string): Promise<Found>;
  /** Returns why nobody may take it away, as far as the store knows; null if they may. */
  whyInUse(found: Found): Promise<string | null>;
}

export function createWorktreeFinder({ store, dataDir }: { store: Store; dataDir: string }): WorktreeFinder {
  async function list(projectId: ProjectId): Promise<Found[]> {
    const project = await requireProject(store.read, projectId);
    const folder = await realpath(join(dataDir, 'worktrees', projectId)).catch(() => null);
    if (folder === null) return [];
    const stages = (await store.read.stages.list()).filter((stage) => stage.projectId === projectId);
    const entries = await readdir(folder, { withFileTypes: true });
    // Callboard names them after their stages.
    const names = entries.filter((entry) => entry.isDirectory() && StageId.safeParse(entry.name).success);
    return names.map(({ name }) => {
      const path = join(folder, name);
      return { project, name, path, stage: stages.find(({ worktree }) => worktree?.path === path) ?? null };
    });
  }

  return {
    list,
    async one(projectId, name) {
      const found = (await list(projectId)).find((one) => one.name === name);
      if (found !== undefined) return found;
      throw new Rejection('unknown_worktree', `There is no worktree ${name}. It may have been cleaned up already.`);
    },
    async whyInUse({ stage }) {
      if (stage === null) return null;
      const session = await store.read.sessions.find(stage.id);
      if (session !== null && session.launchId !== null) return `${stage.id} has a running session.`;
      if (session !== null && isChecking(session)) return `A check of ${stage.id} is running.`;
      const { completedAt } = (await store.read.stages.find(stage.id)) ?? stage;
      return completedAt === null ? `${stage.id} is not done.` : null;
    },
  };
}
