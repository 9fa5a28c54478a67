import { commandsOf, type NamedPipeline, type Project, pipelinesOf } from '@callboard/contract';
import { isFileAgreed } from '../../../lib/finish-words.ts';
import { emptyPhase, phaseOf } from '../../../lib/phase-form.ts';
import { phasesOf, type StageForm } from './stage-form.ts';

/** The value of the chip for phases that are no pipeline's: no name of a pipeline begins with a space. */
export const OWN_PHASES = ' own';

/** The pipelines of a project: those of its file, of its settings, and the built-in ones. */
export const pipelinesIn = (project: Pick<Project, 'file' | 'settings'> | undefined): NamedPipeline[] =>
  pipelinesOf({ file: project?.file?.settings.pipelines ?? {}, own: project?.settings.pipelines ?? {} });

/** Returns the pipeline that these phases are, of several the one that finishes likewise; null if somebody has changed them. */
export function chosenPipeline(
  pipelines: readonly NamedPipeline[],
  { phases, finish }: Pick<StageForm, 'phases' | 'finish'>,
): NamedPipeline | null {
  const sent = JSON.stringify(phases.map(phaseOf));
  const same = pipelines.filter((one) => JSON.stringify(phasesOf(one.phases).map(phaseOf)) === sent);
  return same.find((one) => (one.finish ?? '') === finish) ?? same[0] ?? null;
}

/** Whether a pipeline of `callboard.yaml` would run or finish something that nobody has agreed to. */
export const needsAgreement = (pipeline: NamedPipeline, project: Pick<Project, 'trust'> | undefined): boolean =>
  pipeline.origin === 'file' &&
  (commandsOf(pipeline).length > 0 || (pipeline.finish ?? 'none') !== 'none') &&
  (project === undefined || !isFileAgreed(project));

/** Returns what choosing a pipeline changes: the phases, and how the stage is finished unless a person has chosen that. */
export function choosePipeline(
  pipelines: readonly NamedPipeline[],
  form: Pick<StageForm, 'phases' | 'finish'>,
  name: string,
): Pick<StageForm, 'phases' | 'finish'> {
  const before = chosenPipeline(pipelines, form);
  const wanted = pipelines.find((one) => one.name === name);
  const isUntouched = form.finish === (before?.finish ?? '');
  return {
    phases: wanted === undefined ? [emptyPhase()] : phasesOf(wanted.phases),
    finish: isUntouched ? (wanted?.finish ?? '') : form.finish,
  };
}
