import { join, sep } from 'node:path';
import type { MachineId } from '@callboard/contract';
import { pathExists } from '../lib/path-exists.ts';
import type { Places } from '../machines/places.ts';
import type { Store, Tx } from '../store/store.ts';

interface AdoptParts {
  store: Store;
  places: Places;
  here: MachineId;
  dataDir: string;
}

/**
 * Takes what this machine had before it shared its store: a store that was moved here from a file names no machines. Projects
 * without any place whose repository is here get one, and started stages whose newest launch has its folder here become its own.
 */
export async function adoptStore({ store, places, here, dataDir }: AdoptParts): Promise<void> {
  const placed = new Set((await store.read.projectPlaces.list()).map(({ projectId }) => projectId));
  for (const project of await store.read.projects.list()) {
    if (placed.has(project.id) || !(await pathExists(join(project.path, '.git')))) continue;
    await store.transact(async (tx) => {
      await places.add(tx, project, null);
      await tx.emit({ type: 'project-updated', data: { projectId: project.id, project } });
    });
  }
  const sessions = new Set((await store.read.sessions.list()).map(({ stageId }) => stageId));
  for (const { id, machineId, lost } of await store.read.stages.list()) {
    if (machineId !== null || lost !== null || !sessions.has(id)) continue;
    const newest = (await store.read.launches.listOf(id)).at(-1);
    if (newest?.folder.startsWith(`${dataDir}${sep}`)) await store.transact((tx) => take(tx, id, here));
  }
}

/** Names the remotes of repositories that got their place without one, so that other machines know them. */
export async function nameRemotes({
  store,
  places,
  remoteOf,
}: Pick<AdoptParts, 'store' | 'places'> & { remoteOf: (root: string) => Promise<string | null> }): Promise<void> {
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
