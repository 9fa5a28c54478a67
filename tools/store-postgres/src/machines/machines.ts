import {
  isPinnedTo,
  type Machine,
  type MachineId,
  type Project,
  type ProjectId,
  type Stage,
  type StageId,
} from '@callboard/contract';
import { ELSEWHERE, loseStage, type Machines, type StartGate } from '@callboard/orchestrator/machines';
import {
  type Logger,
  type MachineRecord,
  OperationalError,
  Rejection,
  requireProject,
  requireStage,
  type Store,
  type Tables,
  type Tx,
} from '@callboard/orchestrator/store';
import { createReconciler } from '@callboard/runtime/reconciler';
import type { Locations, Ownership } from './machine-stores.ts';

/** `why`: why the stage runs nowhere, if no connected machine can take it. */
type LocationOf = (stage: Pick<Stage, 'projectId' | 'machine'>) => Placement & { why: string };

/** All machines that share the store, as the machines themselves see them. */
export interface SharingMachines extends Machines {
  readonly here: MachineId;
  nameOf(id: MachineId): Promise<string>;
  /** Reads all machines. Returns where a stage that nobody has claimed can run now. */
  placing(): Promise<LocationOf>;
  /** The machine that has the stage, or can have it. @throws Rejection `unknown_stage`; OperationalError `no_machine` */
  ofStage(stageId: StageId, isStart: boolean): Promise<MachineId>;
  /** A machine that has the repository. @throws Rejection `unknown_project`; OperationalError `no_machine` */
  ofProject(projectId: ProjectId): Promise<MachineId>;
  /** Checks that a pin names one machine. @throws Rejection `unknown_machine`, `ambiguous_machine` */
  requirePin(pin: string): Promise<void>;
  /** Whether this machine does what one machine does for all: the connected one with the lowest id. */
  leads(tables: Pick<Tables, 'machines'>): Promise<boolean>;
  /** Tells everybody what this machine is now. */
  notify(tx: Tx, id: MachineId): Promise<void>;
  stop(): Promise<void>;
}

export interface MachinesDeps {
  store: Store;
  log: Logger;
  here: MachineId;
  ownership: Ownership;
  places: Locations;
  /** How often is looked for machines whose lease has run out. */
  checkIntervalMs: number;
}

/** Watches the other machines, so that everybody hears when one stops answering. */
export function startMachines(deps: MachinesDeps): SharingMachines {
  const { store, log, here, ownership, places, checkIntervalMs } = deps;

  const notify = async (tx: Tx, id: MachineId): Promise<void> => {
    const record = await tx.machines.find(id);
    if (record !== null) await tx.emit({ type: 'machine-updated', data: { machine: machineView(record, places) } });
  };

  async function check(): Promise<void> {
    const silent = (await store.read.machines.list()).filter((one) => one.state !== 'lost' && !one.isConnected);
    for (const machine of silent) await applyRule(deps, notify, machine);
    if (!silent.some(({ state }) => state === 'connected')) return;
    await store.transact(
      async (tx) => {
        for (const id of await tx.machines.noteUnreachable()) await notify(tx, id);
      },
      { sync: 'later' },
    );
  }

  const checks = createReconciler(check, (error) => log.warn({ err: error }, 'looking at the other machines failed'), {
    everyMs: checkIntervalMs,
  });

  async function placing(): Promise<LocationOf> {
    const records = await store.read.machines.list();
    const all: Candidate[] = records.map((record) => ({ ...record, projects: places.of(record.id) }));
    const pins = new Map((await store.read.projects.list()).map(({ id, settings }) => [id, settings.machine]));
    return ({ projectId, machine }) => {
      const wanted = { projectId, pin: machine ?? pins.get(projectId) ?? null };
      return { ...placeStage(wanted, all), why: noMachineReason(wanted, all) };
    };
  }

  const requireMachine = (id: MachineId) => requireIn(store.read, id);

  return {
    here,
    list: async () => (await store.read.machines.list()).map((record) => machineView(record, places)),
    nameOf: async (id) => (await requireMachine(id)).name,
    declareLost: async (id, actor) => declareLost(deps, notify, await requireMachine(id), { by: actor, silentMs: 0 }),
    remove: (id) => removeLost(deps, id),
    placing,
    async ofStage(stageId, isStart) {
      const owner = ownership.ownerOf(stageId);
      if (owner !== null) return owner;
      const stage = await requireStage(store.read, stageId);
      if (stage.machineId !== null) return stage.machineId;
      const { chosen, able, why } = (await placing())(stage);
      const canHere = able.some(({ id }) => id === here);
      if (!isStart && (canHere || places.here(stage.projectId) !== null)) return here;
      const best = chosen ?? (canHere ? here : able[0]?.id);
      if (best === undefined) throw new OperationalError('no_machine', `${why}, so this cannot be done now.`);
      return best;
    },
    async ofProject(projectId) {
      if (places.here(projectId) !== null) return here;
      await requireProject(store.read, projectId);
      const { able, why } = (await placing())({ projectId, machine: null });
      const [best] = able;
      if (best === undefined) throw new OperationalError('no_machine', `${why}, so this cannot be done now.`);
      return best.id;
    },
    requirePin: (pin) => requirePin(store, pin),
    async leads({ machines }) {
      const first = (await machines.list()).find(({ isConnected }) => isConnected);
      return first?.id === here;
    },
    notify,
    stop: checks.stop,
  };
}

async function requireIn({ machines }: Pick<Tables, 'machines'>, id: MachineId): Promise<MachineRecord> {
  const record = await machines.find(id);
  if (record === null) throw new Rejection('unknown_machine', `No machine has the id ${id}.`);
  return record;
}

async function requirePin(store: Store, pin: string): Promise<void> {
  const all = await store.read.machines.list();
  const named = all.filter((one) => isPinnedTo(pin, one));
  if (named.length === 0) {
    const names = [...new Set(all.map(({ name }) => name))].join(', ');
    throw new Rejection('unknown_machine', `No machine is called ${pin}. There are: ${names}.`);
  }
  // One that was set up anew has the name of the one that was lost.
  const living = named.filter(({ state }) => state !== 'lost');
  if (named.length === 1 || living.length === 1) return;
  const ids = named.map(({ id }) => id).join(', ');
  throw new Rejection('ambiguous_machine', `${named.length} machines are called ${pin}. Use the id of one: ${ids}.`);
}

/** Declares a machine lost if the projects with stages there say so. One of the others does it. */
async function applyRule(deps: MachinesDeps, notify: SharingMachines['notify'], machine: MachineRecord): Promise<void> {
  const { endsSessionsAfterMs, silentMs, id } = machine;
  if (endsSessionsAfterMs === null || silentMs < endsSessionsAfterMs) return;
  const { read } = deps.store;
  const stages = (await read.stages.list()).filter((stage) => stage.machineId === id && stage.completedAt === null);
  const having = new Set(stages.map(({ projectId }) => projectId));
  const rule = lossRule(
    machine,
    (await read.projects.list()).filter((project) => having.has(project.id)),
  );
  if (rule === null || silentMs < rule.silentMs) return;
  await declareLost(deps, notify, machine, rule).catch((error: unknown) => {
    if (!(error instanceof Rejection)) throw error; // another machine was first, or it is back
  });
}

async function declareLost(
  { store, places }: MachinesDeps,
  notify: SharingMachines['notify'],
  { id, name }: MachineRecord,
  { by, silentMs }: LossRule,
): Promise<Machine> {
  return store.transact(async (tx) => {
    if (!(await tx.machines.declareLost(id, silentMs))) throw await notLost(tx, id);
    const stages = (await tx.stages.list()).filter(({ machineId }) => machineId === id);
    await tx.stages.releaseOf(id);
    for (const stage of stages) await loseStage(tx, stage, { machineId: id, machine: name, at: tx.now, by });
    await notify(tx, id);
    const record = await tx.machines.find(id);
    if (record === null) throw new Error(`the machine ${id} is gone`);
    return machineView(record, places);
  });
}

async function notLost(tx: Tx, id: MachineId): Promise<Rejection> {
  const record = await tx.machines.find(id);
  const name = record?.name ?? id;
  const message =
    record?.state === 'lost'
      ? `${name} was declared lost already.`
      : `${name} answers, so it is not lost. Stop Callboard there first, or wait until it is unreachable.`;
  return new Rejection('machine_reachable', message);
}

async function removeLost({ store, places }: MachinesDeps, id: MachineId): Promise<Machine> {
  return store.transact(async (tx) => {
    const record = await requireIn(tx, id);
    if (!(await tx.machines.remove(id))) throw notRemovable(record);
    await tx.projectLocations.removeOf(id);
    await tx.emit({ type: 'machine-removed', data: { machineId: id } });
    return machineView(record, places);
  });
}

const notRemovable = ({ name, isConnected }: MachineRecord): Rejection =>
  new Rejection(
    'machine_not_lost',
    isConnected
      ? `${name} answers, so it was not removed. Stop Callboard there, and declare it lost first.`
      : `${name} was not declared lost, so it was not removed. Declare it lost first: that interrupts its stages, which can then be started elsewhere.`,
  );

/** When a machine is declared lost without a person. */
export interface LossRule {
  /** How long it must not have been seen. */
  silentMs: number;
  /** Who declares it lost, in words. */
  by: string;
}

/**
 * What the projects with unfinished stages on a machine agree on: all of them have a rule, the longest time counts, and the machine
 * ends its own sessions in half of it. Null: only a person declares it lost.
 */
export function lossRule(
  { endsSessionsAfterMs }: Pick<MachineRecord, 'endsSessionsAfterMs'>,
  projects: readonly Pick<Project, 'name' | 'settings'>[],
): LossRule | null {
  const [slowest] = projects.toSorted((a, b) => timeOf(b) - timeOf(a));
  if (slowest === undefined || endsSessionsAfterMs === null) return null;
  const silentMs = timeOf(slowest);
  if (silentMs === Number.POSITIVE_INFINITY || endsSessionsAfterMs > silentMs / 2) return null;
  return { silentMs, by: `the rule of ${slowest.name}` };
}

const timeOf = ({ settings }: Pick<Project, 'settings'>): number =>
  settings.declareLostAfterMs ?? Number.POSITIVE_INFINITY;

/** Returns what people see of a machine. */
const machineView = (record: MachineRecord, locations: Pick<Locations, 'of'>): Machine => {
  const { epoch: _, url: _url, secretSha256: _secret, silentMs: _silent, isConnected, state, ...reported } = record;
  // The store's clock knows before anybody has noted it.
  const isOverdue = state === 'connected' && !isConnected;
  return {
    ...reported,
    ...(isOverdue ? { state: 'unreachable' as const, since: record.seenAt } : { state }),
    projects: locations.of(record.id),
  };
};

/** What decides where a stage runs. */
export interface Placeable {
  projectId: ProjectId;
  /** The stage's own wish, or the project's; null: any machine. */
  pin: string | null;
}

/** A machine, with the projects whose repository it has. */
export type Candidate = Pick<MachineRecord, 'id' | 'name' | 'isConnected' | 'freeSlots' | 'freeMemoryBytes'> & {
  projects: readonly ProjectId[];
};

/**
 * Where a stage that nobody has claimed can run. `chosen`: the connected machine with a free slot that has most free memory; null
 * if none has a free slot. `able`: all connected machines that may take it, the best one first.
 */
export interface Placement {
  chosen: MachineId | null;
  able: readonly Candidate[];
}

/** Every machine computes the same from the same rows, so that all but one leave the stage alone. */
export function placeStage({ projectId, pin }: Placeable, machines: readonly Candidate[]): Placement {
  const able = machines
    .filter((one) => one.isConnected && one.projects.includes(projectId) && (pin === null || isPinnedTo(pin, one)))
    .toSorted(byRoom);
  return { chosen: able.find(({ freeSlots }) => freeSlots > 0)?.id ?? null, able };
}

const byRoom = (a: Candidate, b: Candidate): number =>
  Number(b.freeSlots > 0) - Number(a.freeSlots > 0) || b.freeMemoryBytes - a.freeMemoryBytes || (a.id < b.id ? -1 : 1);

/** Says why no connected machine can take the stage. */
export function noMachineReason({ projectId, pin }: Placeable, machines: readonly Candidate[]): string {
  const wanted = pin === null ? machines : machines.filter((one) => isPinnedTo(pin, one));
  const named = pin === null ? undefined : wanted[0];
  if (pin !== null && named === undefined) return `No machine is called ${pin}`;
  const having = wanted.filter(({ projects }) => projects.includes(projectId));
  if (having.length === 0)
    return named === undefined ? 'No machine has its repository' : `${named.name} does not have its repository`;
  const [first] = having;
  return having.length === 1 && first !== undefined
    ? `${first.name} is unreachable`
    : 'All machines with its repository are unreachable';
}

/**
 * Leaves a stage to the machine that it is placed on. A stage that no connected machine can take waits, and says why. If all have
 * their slots full, each of them keeps it in its own queue, and the first one with room claims it.
 */
export const createMachineGate =
  (machines: Pick<SharingMachines, 'here' | 'placing'>): StartGate =>
  async () => {
    const locationOf = await machines.placing();
    return (stage) => {
      if (stage.machineId !== null) return null;
      const { chosen, able, why } = locationOf(stage);
      if (able.length === 0) return { code: 'machine', reason: why, until: null };
      if (chosen === machines.here) return null;
      return chosen !== null || !able.some(({ id }) => id === machines.here) ? ELSEWHERE : null;
    };
  };
