import type { Project } from '@callboard/contract';
import { IconFlag, IconListNumbers } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { boardQuery } from '../../../data/queries.ts';
import { FINISH_OPTIONS, FINISH_ORDER, FINISH_TEXTS, finishOfStage, projectFinish } from '../../../lib/finish-words.ts';
import { phaseOf } from '../../../lib/phase-form.ts';
import { choosePipeline, chosenPipeline, needsAgreement, OWN_PHASES, pipelinesIn } from '../model/pipeline-choice.ts';
import { type StageFormControl, wayOf } from '../model/stage-form.ts';
import { SelectChip } from './chip.tsx';
import css from './forms.module.css';

/** The project that the form is for. */
function useFormProject({ projectId }: StageFormControl['form']): Project | undefined {
  const { data } = useQuery({ ...boardQuery, select: (view) => view.projects.find(({ id }) => id === projectId) });
  return data;
}

/** The pipelines to choose from; own phases are edited below the chips. */
export function PipelineChip({ form, set }: StageFormControl) {
  const project = useFormProject(form);
  const pipelines = pipelinesIn(project);
  return (
    <SelectChip
      label="Pipeline"
      icon={<IconListNumbers size={14} aria-hidden />}
      options={[
        ...pipelines.map((pipeline) => {
          const disabled = needsAgreement(pipeline, project);
          const { name } = pipeline;
          return { value: name, label: disabled ? `${name} (agree to callboard.yaml first)` : name, disabled };
        }),
        { value: OWN_PHASES, label: 'Custom phases' },
      ]}
      value={chosenPipeline(pipelines, form)?.name ?? OWN_PHASES}
      isSet={form.phases.length > 0}
      choose={(name) => set(choosePipeline(pipelines, form, name))}
    />
  );
}

/** What happens after the last phase. */
export function FinishChip({ form, set }: StageFormControl) {
  const project = useFormProject(form);
  const { way, origin } = project === undefined ? { way: 'none' as const, origin: '' } : projectFinish(project);
  return (
    <SelectChip
      label="At the end"
      icon={<IconFlag size={14} aria-hidden />}
      options={[{ value: '', label: `${FINISH_TEXTS[way]}, ${origin}` }, ...FINISH_OPTIONS]}
      value={form.finish}
      isSet={form.finish !== ''}
      choose={(finish) => set({ finish })}
    />
  );
}

/** Says what happens at the end, where that is not what a person expects, and who decides it. */
export function FinishNote({ form }: Pick<StageFormControl, 'form'>) {
  const project = useFormProject(form);
  const ofProject = project === undefined ? 'none' : projectFinish(project).way;
  if (form.finish === '' && ofProject === 'none') return null;
  const chosen = chosenPipeline(pipelinesIn(project), form);
  const chosenBy =
    chosen !== null && form.finish === chosen.finish ? `as the pipeline “${chosen.name}” says` : 'set for this stage';
  const text = finishOfStage({ finish: wayOf(form), pipeline: form.phases.map(phaseOf) }, project, chosenBy);
  return (
    <p className={css.about}>
      At the end: {text}. {FINISH_ORDER}
    </p>
  );
}
