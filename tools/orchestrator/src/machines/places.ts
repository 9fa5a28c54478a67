import type { Machine, MachineId, Project, ProjectId } from '@callboard/contract';
import type { ProjectLocation } from '../store/ports/machine-tables.ts';
import type { ProjectsTable } from '../store/ports/project-tables.ts';
import { retryWhileStoreFails } from '../store/retry-until-stored.ts';
import type { Tx } from '../store/store.ts';
import type { FollowDeps } from './ownership.ts';
import { remoteName } from './remote-name.ts';

/** A repository on this machine, known to others by its remote or, without one, by a chosen name. */
export interface JoinedRepository {
  root: string;
  /** As `remoteName` makes it; null if it has none. */
  remote: string | null;
  name: string | null;
}

/** Where repositories are, on all machines, from memory. */
export interface Locations {
  /** Where this machine has the project; null if it has not. */
  here(id: ProjectId): string | null;
  /** The projects that a machine has. */
  of(machineId: MachineId): ProjectId[];
  /** The remote of the project's repository on this machine; null if it has none, and if it is not here. */
  remoteHere(id: ProjectId): string | null;
  /** As `remoteName`. */
  nameOf(address: string): string | null;
  /** Whether this machine is the first of those that have the project and are not lost: it does what one of them does. */
  isFirst(id: ProjectId): boolean;
  /** Finds the project that another machine has of this repository, and gives it a place on this one; null if there is none. */
  join(tx: Tx, repository: JoinedRepository): Promise<Project | null>;
  /** Gives the project a place on this machine. */
  add(tx: Tx, project: Pick<Project, 'id' | 'path'>, remote: string | null): Promise<void>;
  /** The table of projects as this machine sees it: with its own paths. */
  seen(table: ProjectsTable): ProjectsTable;
  /** Reads all places anew, as soon as the store answers: events about some may be missing. @throws the reason of `stop` */
  reload(): Promise<void>;
  stop(): void;
}

/** Follows the places of all machines. A new one is told with `project-updated`. */
export async function followLocations({ store, log, here: machineId }: FollowDeps): Promise<Locations> {
  const readLost = async () =>
    new Set((await store.read.machines.list()).filter(({ state }) => state === 'lost').map(({ id }) => id));
  let all: readonly ProjectLocation[] = await store.read.projectLocations.list();
  let lost = await readLost();
  /** The last read that was begun; it never rejects. */
  let loading = Promise.resolve();
  const stopped = new AbortController();

  const placeHere = (id: ProjectId) => all.find((one) => one.projectId === id && one.machineId === machineId);
  const pathHere = (id: ProjectId): string | null => placeHere(id)?.path ?? null;

  /** One after another, so that an older picture never replaces a newer one. */
  function reload(): Promise<void> {
    const read = loading.then(() =>
      retryWhileStoreFails({ log, signal: stopped.signal }, async () => {
        all = await store.read.projectLocations.list();
        lost = await readLost();
      }),
    );
    loading = read.catch(() => undefined);
    return read;
  }

  const unlisten = store.onEvent(({ type, data }) => {
    if (type === 'machine-removed') all = without(all, data.machineId);
    if (type === 'machine-updated') lost = noted(lost, data.machine);
    if (type === 'project-updated' || type === 'project-removed') reload().catch(() => undefined); // the store is closed
  });

  const seenAs = (project: Project): Project => ({ ...project, path: pathHere(project.id) ?? plain(project.path) });

  const self: Locations = {
    here: pathHere,
    remoteHere: (id) => placeHere(id)?.remote ?? null,
    nameOf: remoteName,
    isFirst: (id) => all.find((place) => place.projectId === id && !lost.has(place.machineId))?.machineId === machineId,
    async join(tx, { root, remote, name }) {
      const others = (await tx.projectLocations.list()).filter(({ projectId }) => pathHere(projectId) === null);
      for (const place of others) {
        const project = await tx.projects.find(place.projectId);
        const isSame = remote === null ? place.remote === null && project?.name === name : place.remote === remote;
        if (project === null || !isSame) continue;
        await self.add(tx, { id: project.id, path: root }, remote);
        return { ...project, path: root };
      }
      return null;
    },
    of: (id) => all.filter((place) => place.machineId === id).map(({ projectId }) => projectId),
    async add(tx, { id, path }, remote) {
      await tx.projectLocations.save({ projectId: id, machineId, path, remote });
      all = await tx.projectLocations.list();
    },
    seen: (table) => ({
      ...table,
      list: async () => (await table.list()).map(seenAs),
      async find(id) {
        const found = await table.find(id);
        return found === null ? null : seenAs(found);
      },
      async findByPath(path) {
        const place = all.find((one) => one.machineId === machineId && one.path === path);
        const found = place === undefined ? null : await table.find(place.projectId);
        return found === null ? null : seenAs(found);
      },
      async save(project) {
        const known = await table.find(project.id);
        await table.save({ ...project, path: known?.path ?? (await unused(table, project.path, machineId)) });
      },
    }),
    reload,
    stop() {
      unlisten();
      stopped.abort();
    },
  };
  return self;
}

const noted = (lost: ReadonlySet<MachineId>, { id, state }: Pick<Machine, 'id' | 'state'>): Set<MachineId> =>
  state === 'lost' ? new Set([...lost, id]) : new Set([...lost].filter((one) => one !== id));

/** Two machines may have different repositories at one path; the store keeps each path once. */
const unused = async (table: ProjectsTable, path: string, machineId: MachineId): Promise<string> =>
  (await table.findByPath(path)) === null ? path : `${machineId}:${path}`;

const plain = (path: string): string => path.replace(/^[0-9a-f-]{36}:(?=\/)/, '');

/** The places after a machine was removed, as `ProjectPlacesTable.removeOf` keeps them. */
const without = (locations: readonly ProjectLocation[], gone: MachineId): readonly ProjectLocation[] =>
  locations.filter(
    ({ projectId, machineId }) =>
      machineId !== gone || !locations.some((other) => other.projectId === projectId && other.machineId !== gone),
  );
