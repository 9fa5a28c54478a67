import { setTimeout as sleep } from 'node:timers/promises';
import type { Machine as MachineView, StageId } from '@callboard/contract';
import { type Transport, TransportError } from '@callboard/contract/client';
import type { Link, Machine } from './machine.ts';
import { insist } from './people.ts';
import type { Random } from './random.ts';

/** How often each stage was taken from a machine that was declared lost. */
export type Losses = Map<StageId, number>;

/** A machine that is cut off, and the people who see that. */
export interface CutOff {
  machine: Machine;
  link: Link;
  /** Through the web server of another machine. */
  transport: Transport;
  /** Through the machine's own web server. */
  own: Transport;
  losses: Losses;
  random: Random;
  signal: AbortSignal;
}

const CHECK_INTERVAL_MS = 250;
/** How long it stays away after its lease has run out, or after it was declared lost. */
const LATER_MS = 8_000;

/** Lets a machine come back some time after everybody has seen that its lease has run out. */
export async function outliveLease(cutOff: CutOff): Promise<void> {
  await seenAs('unreachable', cutOff);
  await recover(cutOff);
}

/**
 * Declares a machine lost as soon as that is possible, as a person does, who sets most of its stages free for others; and lets it come back
 * later. Resolves when it has dealt with what it left behind.
 */
export async function loseMachine(cutOff: CutOff): Promise<void> {
  const { transport, losses, random, signal } = cutOff;
  for (;;) {
    const { id: machineId } = await seenAs('unreachable', cutOff);
    const { stages } = await insist(signal, () => transport.command('get_board', {}));
    const had = stages.filter((stage) => stage.machineId === machineId).map(({ id }) => id);
    if (!(await declare(cutOff, machineId))) continue;
    for (const stageId of had) {
      losses.set(stageId, (losses.get(stageId) ?? 0) + 1);
      if (random.between(1, 3) === 1) continue; // it waits for its machine
      await insist(signal, () => transport.command('update_stage', { stageId, patch: { machine: null } }));
    }
    break;
  }
  await recover(cutOff);
}

/** Returns false if the machine answers after all. A reply may be lost, and then it is lost already. */
async function declare(cutOff: CutOff, machineId: MachineView['id']): Promise<boolean> {
  const { transport, signal } = cutOff;
  try {
    await insist(signal, () => transport.command('declare_machine_lost', { machineId }));
    return true;
  } catch (error) {
    if (!(error instanceof TransportError) || error.code !== 'machine_reachable') throw error;
    return (await stateOf(cutOff)).state === 'lost';
  }
}

async function recover(cutOff: CutOff): Promise<void> {
  const { link, own, random, signal } = cutOff;
  await sleep(random.between(0, LATER_MS), undefined, { signal });
  link.unblock();
  await seenAs('connected', cutOff);
  await insist(signal, () => own.command('get_machines', {})); // it answers when it has looked at all that it left
}

async function seenAs(state: MachineView['state'], cutOff: CutOff): Promise<MachineView> {
  for (;;) {
    const seen = await stateOf(cutOff);
    if (seen.state === state) return seen;
    await sleep(CHECK_INTERVAL_MS, undefined, { signal: cutOff.signal });
  }
}

async function stateOf({ machine, transport, signal }: CutOff): Promise<MachineView> {
  const { machines } = await insist(signal, () => transport.command('get_machines', {}));
  const found = machines.find(({ name }) => name === machine.name);
  if (found === undefined) throw new Error(`${machine.name} is not on the list of machines`);
  return found;
}
