import { commandsOf, findPipeline, type Phase, type ProjectPipeline, pipelinesOf } from '@callboard/contract';

/** The pipelines that a project offers, and whether people agreed to what the repository's own would run. */
export interface PipelineSource {
  settings: { pipelines: Readonly<Record<string, ProjectPipeline>> };
  /** The keys of the settings that `callboard.yaml` decides. */
  fromFile: readonly string[];
  isAgreed: boolean;
}

/** Returns the phases of the pipeline with this name, or why it cannot be used, in words. */
export function findPhases({ settings, fromFile, isAgreed }: PipelineSource, name: string): Phase[] | string {
  const pipelines = pipelinesOf(settings.pipelines);
  const found = findPipeline(pipelines, name);
  if (found === null) {
    const known = pipelines.map((one) => `"${one.name}"`).join(', ');
    return `there is no pipeline "${name}"; there are ${known}`;
  }
  if (fromFile.includes('pipelines') && !isAgreed && commandsOf(found).length > 0)
    return `the pipeline "${found.name}" of callboard.yaml runs commands that nobody has agreed to; review them on the project's Rules page`;
  return found.phases;
}
