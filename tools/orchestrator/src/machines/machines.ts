import {
  isPinnedTo,
  type Machine,
  type MachineId,
  type ProjectId,
  type Stage,
  type StageId,
} from '@callboard/contract';
import { loseStage } from '../domain/machine-loss.ts';
import { OperationalError, Rejection } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import { createCoalescingWorker } from '../lib/nudged-worker.ts';
import type { MachineRecord } from '../store/ports/machine-tables.ts';
import { requireProject, requireStage } from '../store/require.ts';
import type { Store, Tables, Tx } from '../store/store.ts';
import { type LossRule, lossRule } from './loss-rule.ts';
import { machineView } from './machine-view.ts';
import type { Ownership } from './ownership.ts';
import { type Candidate, noMachineReason, type Placement, placeStage } from './placement.ts';
import type { Locations } from './places.ts';

/** `why`: why the stage runs nowhere, if no connected machine can take it. */
type LocationOf = (stage: Pick<Stage, 'projectId' | 'machine'>) => Placement & { why: string };

/** All machines that share the store. */
export interface Machines {
  readonly here: MachineId;
  list(): Promise<Machine[]>;
  nameOf(id: MachineId): Promise<string>;
  /**
   * Declares a machine lost for a person: ends its epoch, so that nothing it writes counts any more, closes its open requests, and
   * takes its stages from it.
   * @throws Rejection `unknown_machine`, `machine_reachable`
   */
  declareLost(id: MachineId, actor: string): Promise<Machine>;
  /**
   * Takes a machine that was declared lost off the list, with the places of its repositories. Should it come back, it is listed
   * again, and knows that it was lost. Returns it as it was.
   * @throws Rejection `unknown_machine`, `machine_not_lost`
   */
  remove(id: MachineId): Promise<Machine>;
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
export function startMachines(deps: MachinesDeps): Machines {
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

  const worker = createCoalescingWorker(check, (error) =>
    log.warn({ err: error }, 'looking at the other machines failed'),
  );
  const timer = setInterval(worker.schedule, checkIntervalMs).unref();

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
    async stop() {
      clearInterval(timer);
      await worker.stop();
    },
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
async function applyRule(deps: MachinesDeps, notify: Machines['notify'], machine: MachineRecord): Promise<void> {
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
  notify: Machines['notify'],
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
