import type { BoardParts, MachineId, StageId } from '@callboard/contract';
import type { LimitsTable } from '../store/ports/limits-table.ts';
import type { Store, Tables, Tx } from '../store/store.ts';
import type { Epochs } from './follow-epochs.ts';
import type { Ownership } from './ownership.ts';
import type { Locations } from './places.ts';

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
