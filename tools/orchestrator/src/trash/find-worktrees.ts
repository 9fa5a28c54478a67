import { readdir, realpath } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { isChecking, type MachineId, Project, type ProjectId, type Stage, StageId } from '@callboard/contract';
import { isOnMachine, orphanFate } from '../domain/former-worktree.ts';
import { Rejection } from '../lib/errors.ts';
import type { OrphanedWorktree } from '../store/ports/machine-tables.ts';
import { requireProject } from '../store/require.ts';
import type { Store } from '../store/store.ts';

/** The folder of a worktree, and whose it is. */
export interface Found {
  project: Project;
  /** Null if its stage was deleted. */
  stage: Stage | null;
  name: string;
  path: string;
  /** Set if this machine had it when it was declared lost, and its stage has not gone on in it. */
  orphaned: OrphanedWorktree | null;
}

/** The worktrees that Callboard made, as they are on the disk. */
export interface WorktreeFinder {
  /** @throws Rejection `unknown_project` */
  list(projectId: ProjectId): Promise<Found[]>;
  /** @throws Rejection `unknown_project`, `unknown_worktree` */
  one(projectId: ProjectId, name: string): Promise<Found>;
  /** Returns the folder of a orphaned worktree of this machine; null if it is gone. Its project may be gone, too. */
  orphanedOne(orphaned: OrphanedWorktree): Promise<Found | null>;
  /** Returns why nobody may take it away, as far as the store knows; null if they may. */
  inUseReason(found: Found): Promise<string | null>;
}

export interface FinderDeps {
  store: Store;
  dataDir: string;
  /** Null where one machine has everything. */
  here: MachineId | null;
}

export function createWorktreeFinder({ store, dataDir, here }: FinderDeps): WorktreeFinder {
  async function list(projectId: ProjectId): Promise<Found[]> {
    const project = await requireProject(store.read, projectId);
    const folder = await realpath(join(dataDir, 'worktrees', projectId)).catch(() => null);
    if (folder === null) return [];
    const stages = (await store.read.stages.list()).filter((stage) => stage.projectId === projectId);
    const orphaned = here === null ? [] : await store.read.orphanedWorktrees.listOf(here);
    const left = orphaned.filter((one) => one.projectId === projectId && one.isRecorded && !one.isTaken);
    const entries = await readdir(folder, { withFileTypes: true });
    // Callboard names them after their stages.
    const names = entries.filter((entry) => entry.isDirectory() && StageId.safeParse(entry.name).success);
    return names.map(({ name }): Found => {
      const path = join(folder, name);
      // Machines may have the same paths.
      const stage = stages.find((one) => one.worktree?.path === path && isOnMachine(one, here));
      if (stage !== undefined) return { project, name, path, stage, orphaned: null };
      const was = left.find((one) => nameOf(one) === name) ?? null;
      const itsStage = was === null ? undefined : stages.find(({ id }) => id === was.stageId);
      return { project, name, path, stage: itsStage ?? null, orphaned: was };
    });
  }

  const stageOf = async ({ stageId, projectId }: OrphanedWorktree): Promise<Stage | null> => {
    const stage = await store.read.stages.find(stageId);
    return stage?.projectId === projectId ? stage : null;
  };

  return {
    list,
    async one(projectId, name) {
      const found = (await list(projectId)).find((one) => one.name === name);
      if (found !== undefined) return found;
      throw new Rejection('unknown_worktree', `There is no worktree ${name}. It may have been cleaned up already.`);
    },
    async orphanedOne(orphaned) {
      const name = nameOf(orphaned);
      const path = await realpath(join(dataDir, 'worktrees', orphaned.projectId, name)).catch(() => null);
      if (path === null) return null;
      const known = await store.read.projects.find(orphaned.projectId);
      const project = known ?? projectOf(orphaned);
      // A machine that was removed from the list has lost its place, not its repository.
      const repository = orphaned.repository ?? project.path;
      return { project: { ...project, path: repository }, name, path, stage: await stageOf(orphaned), orphaned };
    },
    async inUseReason({ stage, orphaned }) {
      if (orphaned !== null) return orphanInUseReason(orphaned, await stageOf(orphaned));
      if (stage === null) return null;
      const session = await store.read.sessions.find(stage.id);
      if (session !== null && session.launchId !== null) return `${stage.id} has a running session.`;
      if (session !== null && isChecking(session)) return `A check of ${stage.id} is running.`;
      const { completedAt } = (await store.read.stages.find(stage.id)) ?? stage;
      return completedAt === null ? `${stage.id} is not done.` : null;
    },
  };
}

/** The folder of the data directory may have moved. */
const nameOf = ({ worktree }: OrphanedWorktree): string => basename(worktree.path);

function orphanInUseReason(orphaned: OrphanedWorktree, stage: Stage | null): string | null {
  const fate = orphanFate(orphaned, stage);
  if (fate === 'own') return `${orphaned.stageId} goes on in it.`;
  return fate === 'waits'
    ? `${orphaned.stageId} was interrupted when its machine was lost, and can go on in it until it is started on another machine.`
    : null;
}

/** A project that was removed after its stages. */
const projectOf = ({ projectId, projectName, repository }: OrphanedWorktree): Project =>
  Project.parse({
    id: projectId,
    name: projectName,
    path: repository ?? '',
    settings: {},
    createdAt: new Date(0).toISOString(),
  });
