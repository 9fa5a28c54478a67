import type { ProjectId } from '@callboard/contract';
import { NativeSelect, NumberInput } from '@mantine/core';
import { useLostAfterProblem, useMachineChoice } from '../../../data/machines.ts';

/** Where the stages of the project run, if there is a choice. */
export function MachineField({ projectId, value, set }: MachineFieldProps) {
  const choice = useMachineChoice(projectId, value);
  if (choice === null) return null;
  return (
    <NativeSelect
      label="Machine"
      description="Stages of this project start only there, unless a stage says otherwise. Stages that have started stay where they are."
      data={[{ value: '', label: 'Any machine' }, ...choice.options]}
      value={choice.value}
      error={choice.problem}
      onChange={(event) => set(event.currentTarget.value)}
    />
  );
}

interface MachineFieldProps {
  projectId: ProjectId;
  value: string;
  set: (machine: string) => void;
}

/** After what time a machine is declared lost without a person, if there are several. */
export function LostAfterField({ projectId, value, set }: LostAfterFieldProps) {
  const problem = useLostAfterProblem(projectId, value);
  if (problem === null) return null;
  return (
    <NumberInput
      label="Declare a machine lost after, in minutes"
      description="A machine that does not answer for this long loses its stages, which can then be started elsewhere, if every project with unfinished stages there has such a time. Leave empty to decide yourself."
      min={2}
      allowDecimal={false}
      hideControls
      value={value}
      error={problem === '' ? null : problem}
      onChange={(minutes) => set(String(minutes))}
    />
  );
}

interface LostAfterFieldProps {
  projectId: ProjectId;
  /** As typed. */
  value: string;
  set: (minutes: string) => void;
}
