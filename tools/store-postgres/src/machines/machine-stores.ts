import type { BoardEvent, BoardParts, Machine, MachineId, Project, ProjectId, StageId } from '@callboard/contract';
import {
  type LimitsTable,
  type Logger,
  onEvents,
  type ProjectLocation,
  type ProjectsTable,
  retryWhileStoreFails,
  type Store,
  type Tables,
  type Tx,
} from '@callboard/orchestrator/store';
import { createEmitter } from '@callboard/runtime/emitter';
import { messageOf } from '@callboard/runtime/errors';
import { createReconciler } from '@callboard/runtime/reconciler';

/** The one store as this machine's services see it. */
export interface MachineStores {
  /** Everything, with the paths that repositories have on this machine: for what people see and do. */
  all: Store;
  /**
   * What services that act unasked see: lists and events of the stages that this machine has. Its board also has stages that
   * nobody has claimed, which it may start, and those that are done, which others depend on.
   */
  own: Store;
}

interface MachineStoresDeps {
  here: MachineId;
  ownership: Ownership;
  places: Locations;
  epochs: Epochs;
}

/** Returns a copy of `base`, which may be a class instance, with some of its fields replaced. */
const withFields = <T extends object>(base: T, fields: Partial<T>): T =>
  Object.create(base, Object.getOwnPropertyDescriptors(fields));

export function createMachineStores(
  store: Store,
  { here, ownership, places, epochs }: MachineStoresDeps,
): MachineStores {
  const seen = <T extends Tables>(tables: T): T => {
    const projects = places.seen(tables.projects);
    const limits = limitsOf(tables.limits, here);
    return withFields<Tables>(tables, { projects, limits }) as T; // all other fields are those of `tables`
  };
  const seenBoard = async (board: Promise<BoardParts>): Promise<BoardParts> => {
    const parts = await board;
    return {
      ...parts,
      limits: await store.read.limits.view(here),
      projects: parts.projects.map((project) => ({ ...project, path: places.here(project.id) ?? project.path })),
    };
  };
  const all = withFields(store, {
    read: seen(store.read),
    transact: (work, options) => store.transact((tx: Tx) => work(seen(tx)), options),
    board: () => seenBoard(store.board()),
    boardOf: (stageId) => seenBoard(store.boardOf(stageId)),
    onEpoch: epochs.onEpoch,
  });
  return { all, own: ownStore(all, ownership, places) };
}

/** Each machine has an account of its own. */
const limitsOf = (limits: LimitsTable, here: MachineId): LimitsTable => ({
  ...limits,
  view: () => limits.view(here),
  saveReported: (reported) => limits.saveReported(reported, here),
});

/** See `MachineStores.own`. */
function ownStore(all: Store, ownership: Ownership, locations: Locations): Store {
  const { isMine, ownerOf, concerns } = ownership;
  const mine = <T extends { stageId: StageId }>(rows: readonly T[]): T[] =>
    rows.filter(({ stageId }) => isMine(stageId));
  const mayAct = (id: StageId): boolean => ownerOf(id) === null || isMine(id);
  return withFields(all, {
    read: ownTables(all.read, { mine, isMine, places: locations }),
    async board() {
      const board = await all.board();
      const stages = board.stages.filter(({ id, completedAt }) => completedAt !== null || mayAct(id));
      return { ...board, stages };
    },
    onEvent: (listener) =>
      all.onEvent((event) => {
        if (concerns(event)) listener(event);
      }),
  });
}

interface Scope {
  mine: <T extends { stageId: StageId }>(rows: readonly T[]) => T[];
  isMine: (stageId: StageId) => boolean;
  places: Locations;
}

/** The tables, with those lists shortened from which services find their work. */
function ownTables(read: Tables, { mine, isMine, places }: Scope): Tables {
  const { projects, stages, sessions, launches, requests, checks, sideRuns, mergeIntents, worktreeCommands, rules } =
    read;
  return withFields(read, {
    projects: { ...projects, list: async () => (await projects.list()).filter(({ id }) => places.here(id) !== null) },
    stages: { ...stages, list: async () => (await stages.list()).filter(({ id }) => isMine(id)) },
    sessions: { ...sessions, list: async () => mine(await sessions.list()) },
    launches: { ...launches, listNotEnded: async () => mine(await launches.listNotEnded()) },
    requests: { ...requests, listOpen: async () => mine(await requests.listOpen()) },
    checks: { ...checks, listIn: async (states) => mine(await checks.listIn(states)) },
    sideRuns: {
      ...sideRuns,
      listIn: async (states) => (await sideRuns.listIn(states)).filter(({ run }) => isMine(run.stageId)),
    },
    mergeIntents: { ...mergeIntents, list: async () => mine(await mergeIntents.list()) },
    worktreeCommands: {
      ...worktreeCommands,
      listRunning: async () => (await worktreeCommands.listRunning()).filter(({ command }) => isMine(command.stageId)),
    },
    rules: { ...rules, listRetries: async () => mine(await rules.listRetries()) },
  });
}

interface EpochDeps {
  store: Pick<Store, 'onEpoch'>;
  log: Logger;
  /** What is kept in memory by the events of the store: each reads it anew. */
  reload: readonly (() => Promise<void>)[];
}

/** The epochs of the store's event log as this machine's services hear of them. */
export interface Epochs {
  /** Calls the listener after a new epoch has begun, once what this machine keeps in memory is read anew. */
  onEpoch: Store['onEpoch'];
  stop(): Promise<void>;
}

/**
 * Reads what is kept in memory anew when the event log has begun anew: the events that would have changed it may be gone, unheard
 * by a machine that was cut off from the database.
 */
export function followEpochs({ store, log, reload }: EpochDeps): Epochs {
  const reloaded = createEmitter();
  const worker = createReconciler(
    async () => {
      await Promise.all(reload.map((read) => read()));
      reloaded.emit();
    },
    (error) => log.debug({ reason: messageOf(error) }, 'not read anew: the store is closed'),
    { on: (schedule) => [store.onEpoch(schedule)] },
  );
  return { onEpoch: reloaded.subscribe, stop: worker.stop };
}

/** Which machine has which stage, from memory: as of the newest event that the store has published. */
export interface Ownership {
  /** Null for a stage that no machine has claimed. */
  ownerOf(stageId: StageId): MachineId | null;
  /** Whether this machine has it. */
  isMine(stageId: StageId): boolean;
  /** Whether an event concerns this machine: it is about its own stage, or about no stage. */
  concerns(event: BoardEvent): boolean;
  /** Reads all claims anew, as soon as the store answers: events about some may be missing. @throws the reason of `stop` */
  reload(): Promise<void>;
  stop(): void;
}

export interface FollowDeps {
  store: Pick<Store, 'read' | 'onEvent'>;
  log: Logger;
  here: MachineId;
}

/** Follows the claims of all machines. Listen to the store's events through it, or after it: it must hear of a claim first. */
export async function followOwnership({ store, log, here }: FollowDeps): Promise<Ownership> {
  const owners = new Map<StageId, MachineId>();
  /** The stages that were told of since the last read began. */
  const reported = new Set<StageId>();
  const stopped = new AbortController();
  const set = (stageId: StageId, owner: MachineId | null) =>
    owner === null ? owners.delete(stageId) : owners.set(stageId, owner);
  const unlisten = onEvents(store, ['stage-created', 'stage-updated'], ({ data }) => {
    set(data.stageId, data.stage.machineId);
    reported.add(data.stageId);
  });

  async function load(): Promise<void> {
    reported.clear();
    const read = new Map((await store.read.stages.list()).map(({ id, machineId }) => [id, machineId]));
    // What was told meanwhile may be newer. If it is older, its newer event is still to come.
    for (const id of new Set([...owners.keys(), ...read.keys()])) if (!reported.has(id)) set(id, read.get(id) ?? null);
  }

  await load();
  const ownerOf = (stageId: StageId) => owners.get(stageId) ?? null;
  return {
    ownerOf,
    isMine: (stageId) => ownerOf(stageId) === here,
    concerns: ({ data }) => !('stageId' in data) || ownerOf(data.stageId) === here,
    reload: () => retryWhileStoreFails({ log, signal: stopped.signal }, load),
    stop() {
      unlisten();
      stopped.abort();
    },
  };
}

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
  /** Returns the first address with a name that all machines share, as `remoteName` makes it; null if there is none. */
  nameRemote(addresses: () => Promise<readonly string[]>): Promise<string | null>;
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

  const causes = ['machine-removed', 'machine-updated', 'project-updated', 'project-removed'] as const;
  const unlisten = onEvents(store, causes, ({ type, data }) => {
    if (type === 'machine-removed') all = without(all, data.machineId);
    if (type === 'machine-updated') lost = noted(lost, data.machine);
    if (type === 'project-updated' || type === 'project-removed') reload().catch(() => undefined); // the store is closed
  });

  const seenAs = (project: Project): Project => ({ ...project, path: pathHere(project.id) ?? plain(project.path) });

  const self: Locations = {
    here: pathHere,
    remoteHere: (id) => placeHere(id)?.remote ?? null,
    nameRemote: async (addresses) => (await addresses()).map(remoteName).find((name) => name !== null) ?? null,
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

/**
 * Returns one name for all addresses of a remote repository: without protocol, user, port and `.git`. Null for an address that
 * means a folder of one machine.
 */
export function remoteName(address: string): string | null {
  const trimmed = address.trim();
  const url = /^[a-z][a-z+.-]*:\/\/(?:[^@/]*@)?([^/:]+)(?::\d+)?\/(.+)$/i.exec(trimmed);
  const isFile = /^file:/i.test(trimmed);
  const scp = /^(?:[^@/:]+@)?([^/:]+):(?!\/\/)(.+)$/.exec(trimmed);
  const [, host, path] = (isFile ? null : (url ?? scp)) ?? [];
  if (host === undefined || path === undefined) return null;
  const name = path.replace(/^\/+|\/+$/g, '').replace(/\.git$/i, '');
  return name === '' ? null : `${host.toLowerCase()}/${name}`;
}
