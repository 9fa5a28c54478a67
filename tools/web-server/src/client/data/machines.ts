import { isPinnedTo, type Machine, type StageView } from '@callboard/contract';
import { useQuery } from '@tanstack/react-query';
import { boardQuery } from './queries.ts';

/** The machines of the board; none while there is only one. */
function useMachines(): readonly Machine[] {
  const { data = NONE } = useQuery({
    ...boardQuery,
    select: ({ machines }) => (machines.length > 1 ? machines : NONE),
  });
  return data;
}

const NONE: readonly Machine[] = [];

/** What a form offers; null while there is only one machine and the pin names none, so that there is nothing to choose. */
export function useMachineChoice(projectId: string, pin: string): MachineChoice | null {
  const { data: machines = NONE } = useQuery({ ...boardQuery, select: (view) => view.machines });
  return machines.length > 1 || pin !== '' ? machineChoice(machines, projectId, pin) : null;
}

/**
 * Why a project's time for declaring machines lost would have no effect; empty if it has.
 * @returns null while there is only one machine and no time is set, so that there is nothing to ask
 */
export function useLostAfterProblem(projectId: string, minutes: string): string | null {
  const { data: machines = NONE } = useQuery({ ...boardQuery, select: (view) => view.machines });
  return machines.length > 1 || minutes !== '' ? lostAfterProblem(machines, projectId, minutes) : null;
}

/** Where a stage is, in words; null while there is only one machine, and for a stage that nobody has started. */
export interface StagePosition {
  name: string;
  /** What is wrong with the machine, or null. */
  storageError: string | null;
}

export function useStagePosition({ machineId, lost }: Pick<StageView, 'machineId' | 'lost'>): StagePosition | null {
  const machines = useMachines();
  if (lost !== null)
    // whether or not that machine is still listed
    return { name: lost.machine, storageError: `Interrupted on ${lost.machine}, which was declared lost` };
  const machine = machines.find(({ id }) => id === machineId);
  if (machine === undefined) return null;
  const name = machineLabel(machine, machines);
  const { state } = machine;
  return { name, storageError: state === 'unreachable' ? `${name} is unreachable` : null };
}

type Named = Pick<Machine, 'id' | 'name'>;

/** What a form needs to choose the machine of a stage or a project. */
export interface MachineChoice {
  /** Those that have the project, and the chosen one. Values are what is sent: a name, or an id where several have that name. */
  options: { value: string; label: string }[];
  /** The option that the pin means; empty: any machine. */
  value: string;
  /** What is wrong with the pin, and what to do; null if nothing is. */
  problem: string | null;
}

const isSameName = (a: Named, b: Named): boolean => a.name.toLowerCase() === b.name.toLowerCase();
const hasTwin = (one: Named, all: readonly Named[]): boolean =>
  all.some((other) => other.id !== one.id && isSameName(one, other));

/** Names a machine so that it differs from the others: with the end of its id, if one of them has the same name. */
export const machineLabel = (one: Named, all: readonly Named[]): string =>
  hasTwin(one, all) ? `${one.name} (…${one.id.slice(-6)})` : one.name;

/** The machines that a stage of the project can be pinned to. @param pin a name or an id; empty: any machine */
export function machineChoice(machines: readonly Machine[], projectId: string, pin: string): MachineChoice {
  const living = machines.filter(({ state }) => state !== 'lost');
  const having = living.filter(({ projects }) => projects.some((id) => id === projectId));
  const optionOf = (machine: Machine, note = '') => ({
    value: hasTwin(machine, living) ? machine.id : machine.name,
    label: `${machineLabel(machine, living)}${note}`,
  });
  const options = having.map((machine) => optionOf(machine));
  if (pin === '') return { options, value: '', problem: null };
  const alone = (note: string, problem: string) => ({
    options: [...options, { value: pin, label: `${pin}${note}` }],
    value: pin,
    problem,
  });
  const named = machines.filter((machine) => isPinnedTo(pin, machine));
  const meant = living.filter((machine) => isPinnedTo(pin, machine));
  const [machine] = meant;
  if (meant.length > 1) return alone(' (several)', `${meant.length} machines are called ${pin}. Choose one of them.`);
  if (named.length === 0) return alone(' (unknown)', `No machine is called ${pin}, so nothing starts. ${CHOOSE}`);
  if (machine === undefined) return alone(' (lost)', `${pin} was declared lost, so nothing starts. ${CHOOSE}`);
  if (having.includes(machine)) return { options, value: optionOf(machine).value, problem: null };
  const option = optionOf(machine, ' (no repository)');
  return {
    options: [...options, option],
    value: option.value,
    problem: `${machineLabel(machine, living)} does not have this repository, so nothing starts. Add the project there, or choose another machine.`,
  };
}

const CHOOSE = 'Choose another machine.';

const MINUTE = 60_000;

/**
 * Why a project's time for declaring machines lost would have no effect on some of its machines, and what to do; empty if it has.
 * @param minutes as typed; empty: only people declare machines lost
 */
function lostAfterProblem(machines: readonly Machine[], projectId: string, minutes: string): string {
  const afterMs = Number(minutes) * MINUTE;
  if (minutes.trim() === '') return '';
  if (!(afterMs >= 2 * MINUTE)) return 'Enter at least two minutes, or nothing.';
  const having = machines.filter(({ state, projects }) => state !== 'lost' && projects.some((id) => id === projectId));
  const unfit = having.filter((one) => (one.endsSessionsAfterMs ?? Number.POSITIVE_INFINITY) > afterMs / 2);
  if (unfit.length === 0) return '';
  const names = unfit.map((one) => machineLabel(one, machines)).join(', ');
  const most = Math.floor(afterMs / 2 / MINUTE);
  return `No effect on ${names} yet: start Callboard there with CALLBOARD_END_SESSIONS_AFTER_MINUTES=${most} or less, so that Claude does not go on there.`;
}
