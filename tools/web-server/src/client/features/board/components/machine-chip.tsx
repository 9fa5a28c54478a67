import { IconServer } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useMachineChoice } from '../../../data/machines.ts';
import { boardQuery } from '../../../data/queries.ts';
import type { StageFormControl } from '../model/stage-form.ts';
import { SelectChip } from './chip.tsx';
import css from './forms.module.css';

/** Where it runs, if there is a choice. */
export function MachineChip({ form, set }: StageFormControl) {
  const { data: ofProject = null } = useQuery({
    ...boardQuery,
    select: (view) => view.projects.find(({ id }) => id === form.projectId)?.settings.machine,
  });
  const inherited = useMachineChoice(form.projectId, ofProject ?? '');
  const choice = useMachineChoice(form.projectId, form.machine);
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
      value={choice.value}
      isSet={form.machine !== ''}
      isWrong={choice.problem !== null}
      choose={(machine) => set({ machine })}
    />
  );
}

/** Says why the stage would not start on the chosen machine. */
export function MachineProblem({ form }: Pick<StageFormControl, 'form'>) {
  const problem = useMachineChoice(form.projectId, form.machine)?.problem ?? null;
  return problem === null ? null : (
    <p className={css.error} role="status">
      {problem}
    </p>
  );
}
