import { type NamedPipeline, type Project, pipelinesOf } from '@callboard/contract';
import { type PhaseForm, phaseOf } from '../../../lib/phase-form.ts';
import { phasesOf } from './stage-form.ts';

/** What the chip says of phases that are no pipeline's. */
export const OWN_PHASES = 'Own phases';

/** The pipelines of a project: those of its file, of its settings, and the built-in ones. */
export const pipelinesIn = (project: Pick<Project, 'file' | 'settings'> | undefined): NamedPipeline[] =>
  pipelinesOf({ file: project?.file?.settings.pipelines ?? {}, own: project?.settings.pipelines ?? {} });

/** Returns the name of the pipeline that these phases are; `OWN_PHASES` if somebody has changed them. */
export function pipelineName(pipelines: readonly NamedPipeline[], phases: readonly PhaseForm[]): string {
  const sent = JSON.stringify(phases.map(phaseOf));
  const same = pipelines.find((one) => JSON.stringify(phasesOf(one.phases).map(phaseOf)) === sent);
  return same?.name ?? OWN_PHASES;
}
