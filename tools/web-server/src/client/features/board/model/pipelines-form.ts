import { FinishWay, findPipeline, type NamedPipeline, type Project, ProjectPipeline } from '@callboard/contract';
import { FINISH_TEXTS } from '../../../lib/finish-words.ts';
import { count } from '../../../lib/format.ts';
import { emptyPhase, type PhaseForm, phaseOf, phaseProblem } from '../../../lib/phase-form.ts';
import { pipelinesIn } from './pipeline-choice.ts';
import { phasesOf } from './stage-form.ts';

/** A pipeline of a project, as typed. */
export interface PipelineForm {
  key: string;
  name: string;
  /** Empty: as the project says. */
  finish: string;
  phases: PhaseForm[];
}

export const emptyPipeline = (): PipelineForm => ({
  key: crypto.randomUUID(),
  name: '',
  finish: '',
  phases: [emptyPhase()],
});

/** The project's own pipelines, to be edited. */
export const pipelineFormsOf = ({ settings }: Pick<Project, 'settings'>): PipelineForm[] =>
  Object.entries(settings.pipelines).map(([name, { phases, finish }]) => ({
    key: name,
    name,
    finish: finish ?? '',
    phases: phasesOf(phases),
  }));

/** A copy of a pipeline under a name that none of the others has. */
export function copyOf({ name, phases, finish }: NamedPipeline, others: readonly PipelineForm[]): PipelineForm {
  const isFree = (wanted: string) => findPipeline(others, wanted) === null;
  const wanted = [`${name} (own)`, ...others.map((_, index) => `${name} (own ${index + 2})`)].find(isFree) ?? '';
  return { ...emptyPipeline(), name: wanted, finish: finish ?? '', phases: phasesOf(phases) };
}

/** The pipelines that the project has but cannot change here: those of `callboard.yaml`, then the built-in ones. */
export const givenPipelines = (project: Pick<Project, 'file' | 'settings'>): NamedPipeline[] =>
  pipelinesIn({ file: project.file, settings: { ...project.settings, pipelines: {} } });

/** "3 phases, 1 check, merges automatically". */
export function pipelineFacts({ phases, finish }: Pick<NamedPipeline, 'phases' | 'finish'>): string {
  const checks = phases.filter(({ gate }) => typeof gate === 'object').length;
  return [
    phases.length === 0 ? 'no phases' : count(phases.length, 'phase'),
    ...(checks === 0 ? [] : [count(checks, 'check')]),
    ...(finish === null ? [] : [FINISH_TEXTS[finish].replace(/^(Merges|Opens)/, (word) => word.toLowerCase())]),
  ].join(', ');
}

/** `pipelineFacts` of what is typed. */
export const typedFacts = ({ phases, finish }: PipelineForm): string =>
  pipelineFacts({ phases: phases.map(phaseOf), finish: FinishWay.safeParse(finish).data ?? null });

/** What is wrong with one pipeline, in words. */
export interface PipelineErrors {
  name?: string;
  phases?: string;
}

/** Returns the pipelines to send, or what is wrong with them, by their keys. */
export function readPipelineForms(
  forms: readonly PipelineForm[],
): { pipelines: Record<string, ProjectPipeline> } | { errors: Record<string, PipelineErrors> } {
  const errors: Record<string, PipelineErrors> = {};
  const read = forms.flatMap((form, index): [string, ProjectPipeline][] => {
    const { key, phases } = form;
    const finish = FinishWay.safeParse(form.finish).data;
    const name = nameProblem(form.name, forms.slice(0, index));
    const parsed = ProjectPipeline.safeParse({ phases: phases.map(phaseOf), ...(finish !== undefined && { finish }) });
    const [issue] = parsed.error?.issues ?? [];
    const problem =
      issue && (phases.length === 0 ? NO_PHASES : phaseProblem(phases, issue.path.slice(1), issue.message));
    if (name !== null || problem !== undefined)
      errors[key] = { ...(name !== null && { name }), ...(problem !== undefined && { phases: problem }) };
    return parsed.success ? [[form.name.trim(), parsed.data]] : [];
  });
  return Object.keys(errors).length > 0 ? { errors } : { pipelines: Object.fromEntries(read) };
}

const NO_PHASES = 'It has no phases. Add one, or remove the pipeline.';

function nameProblem(name: string, before: readonly PipelineForm[]): string | null {
  if (name.trim() === '') return 'The name is empty.';
  if (name.trim().length > 100) return 'The name is longer than 100 characters.';
  return findPipeline(before, name) === null ? null : 'Another pipeline has this name.';
}
