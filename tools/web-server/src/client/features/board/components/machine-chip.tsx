import { IconServer } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useMachineChoice } from '../../../data/machines.ts';
import { boardQuery } from '../../../data/queries.ts';
import type { StageFormControl } from '../model/stage-form.ts';
import { SelectChip } from './chip.tsx';
import css from './forms.module.css';

/** Where a stage would run by its own choice, or else by that of its project. */
function useMachineOfForm({ projectId, machine }: StageFormControl['form']) {
  const { data: ofProject = null } = useQuery({
    ...boardQuery,
    select: (view) => view.projects.find(({ id }) => id === projectId)?.settings.machine,
  });
  const inherited = useMachineChoice(projectId, ofProject ?? '');
  const own = useMachineChoice(projectId, machine);
  return { ofProject, inherited, own, problem: (machine === '' ? inherited : own)?.problem ?? null };
}

/** Where it runs, if there is a choice. */
export function MachineChip({ form, set }: StageFormControl) {
  const { ofProject, inherited, own, problem } = useMachineOfForm(form);
  const choice = own ?? inherited;
  if (choice === null) return null;
  const nameOfProject = inherited?.options.find(({ value }) => value === inherited.value)?.label ?? ofProject;
  return (
    <SelectChip
      label="Machine"
      icon={<IconServer size={14} aria-hidden />}
      options={[
        { value: '', label: ofProject === null ? 'Any machine' : `${nameOfProject}, as the project` },
        ...choice.options,
      ]}
      value={own?.value ?? ''}
      isSet={form.machine !== ''}
      isWrong={problem !== null}
      choose={(machine) => set({ machine })}
    />
  );
}

/** Says why the stage would not start on the machine of its choice or its project's. */
export function MachineProblem({ form }: Pick<StageFormControl, 'form'>) {
  const { problem } = useMachineOfForm(form);
  return problem === null ? null : (
    <p className={css.error} role="status">
      {problem}
    </p>
  );
}
