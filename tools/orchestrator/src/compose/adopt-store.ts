import { join, sep } from 'node:path';
import type { MachineId, Project, Stage } from '@callboard/contract';
import { pathExists } from '../lib/path-exists.ts';
import type { Locations } from '../machines/places.ts';
import type { LaunchRecord } from '../store/records.ts';
import type { Store, Tx } from '../store/store.ts';

interface AdoptDeps {
  store: Store;
  places: Locations;
  here: MachineId;
  dataDir: string;
}

/**
 * Takes what this machine had before it shared its store: a store that was moved here from a file names no machines. Projects
 * without any place whose repository is here get one, and started stages whose newest launch was here become its own, with their
 * projects. Another machine may have the same data directory, and start first: it has neither the folder of a launch that may still
 * run nor the worktree of one that has ended.
 */
export async function adoptStore({ store, places, here, dataDir }: AdoptDeps): Promise<void> {
  const projects = new Map((await store.read.projects.list()).map((project) => [project.id, project]));
  const place = async (project: Project) => {
    if (!(await pathExists(join(project.path, '.git')))) return;
    await store.transact(async (tx) => {
      await places.add(tx, project, null);
      await tx.emit({ type: 'project-updated', data: { projectId: project.id, project } });
    });
  };
  const placed = new Set((await store.read.projectLocations.list()).map(({ projectId }) => projectId));
  for (const project of projects.values()) if (!placed.has(project.id)) await place(project);

  const placedHere = new Set(
    (await store.read.projectLocations.list()).flatMap(({ projectId, machineId }) =>
      machineId === here ? projectId : [],
    ),
  );
  const sessions = new Set((await store.read.sessions.list()).map(({ stageId }) => stageId));
  for (const stage of await store.read.stages.list()) {
    if (stage.machineId !== null || stage.lost !== null || !sessions.has(stage.id)) continue;
    const newest = (await store.read.launches.listOf(stage.id)).at(-1);
    if (!newest?.folder.startsWith(`${dataDir}${sep}`) || !(await wasHere(newest, stage))) continue;
    await store.transact((tx) => take(tx, stage.id, here));
    const project = projects.get(stage.projectId);
    if (project === undefined || placedHere.has(project.id)) continue;
    placedHere.add(project.id);
    await place(project);
  }
}

/** Whether what a launch has left is on this machine. The folder of one that has ended is removed. */
async function wasHere({ state, folder }: LaunchRecord, { worktree }: Stage): Promise<boolean> {
  if (state !== 'ended') return pathExists(folder);
  return worktree === null || pathExists(worktree.path);
}

/** Names the remotes of repositories that got their place without one, so that other machines know them. */
export async function nameRemotes({
  store,
  places,
  remoteOf,
}: Pick<AdoptDeps, 'store' | 'places'> & { remoteOf: (root: string) => Promise<string | null> }): Promise<void> {
  for (const project of await store.read.projects.list()) {
    if (places.remoteHere(project.id) !== null) continue;
    const remote = await remoteOf(project.path).catch(() => null); // the next start asks again
    if (remote !== null) await store.transact((tx) => places.add(tx, project, remote));
  }
}

async function take(tx: Tx, id: Parameters<Tx['stages']['find']>[0], here: MachineId): Promise<void> {
  const stage = await tx.stages.find(id);
  if (stage === null || !(await tx.stages.claim(id, here))) return;
  await tx.emit({ type: 'stage-updated', data: { stageId: id, stage: { ...stage, machineId: here } } });
}
