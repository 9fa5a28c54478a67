import {
  commandsOf,
  findPipeline,
  type NamedPipeline,
  Phase,
  type ProjectId,
  type SettingsProblem,
  type Stage,
  type StagePatch,
  visibleText,
} from '@callboard/contract';
import { Rejection } from '../lib/errors.ts';

/** The pipelines that a project offers at one commit. */
export interface PipelineSource {
  pipelines: readonly NamedPipeline[];
  /** Why `callboard.yaml` cannot be used; its pipelines are missing then. */
  problems: readonly SettingsProblem[];
  /** Whether people agreed to everything that `callboard.yaml` would run. */
  isAgreed: boolean;
  /** Where `callboard.yaml` was read; null: at the main checkout's current commit. */
  at: string | null;
}

/** Reads the pipelines that a stage may name. @throws Rejection `unknown_project` */
export type PipelinesFor = (projectId: ProjectId, stage: Pick<Stage, 'base' | 'worktree'>) => Promise<PipelineSource>;

/**
 * Returns the pipeline with this name, whatever its case.
 * @throws Rejection `unknown_pipeline`, which lists the names; `settings_not_agreed` for one of `callboard.yaml` that runs commands or
 *   finishes stages before people have agreed to that
 */
export function requirePipeline({ pipelines, problems, isAgreed, at }: PipelineSource, name: string): NamedPipeline {
  const where = at === null ? '' : ` at ${visibleText(at, 'command')}`;
  const found = findPipeline(pipelines, name);
  if (found === null) {
    const known = pipelines.map((one) => `"${one.name}"`).join(', ');
    const [problem] = problems;
    const broken =
      problem === undefined
        ? ''
        : ` Those of callboard.yaml${where} are missing, because it cannot be used (line ${problem.line}).`;
    throw new Rejection('unknown_pipeline', `There is no pipeline "${name}"${where}. There are ${known}.${broken}`);
  }
  const acts = commandsOf(found).length > 0 || (found.finish !== null && found.finish !== 'none');
  if (found.origin === 'file' && acts && !isAgreed) {
    const message = `Nobody has agreed yet to what the pipeline "${found.name}" of callboard.yaml${where} would run.`;
    const step =
      at === null
        ? `Review it on the project's Rules page.`
        : `Review it on the project's Rules page if the main checkout has the same file; otherwise start a stage there without a pipeline, which asks for it.`;
    throw new Rejection('settings_not_agreed', `${message} ${step}`);
  }
  return found;
}

/** The phases of a stage, and how it is finished; undefined: nobody said so. */
export interface ChosenPipeline {
  pipeline: Phase[] | undefined;
  finish: Stage['finish'] | undefined;
}

/**
 * Returns the phases that were given or named. A named pipeline also says how the stage is finished, unless the person does.
 * @param stage as it was before
 * @throws Rejection as `requirePipeline`; `unknown_project`
 */
export async function choosePipeline(
  { pipelinesFor }: { pipelinesFor: PipelinesFor },
  { pipeline, finish, base }: StagePatch,
  stage: { projectId: ProjectId; base?: string | null; worktree: Stage['worktree'] },
): Promise<ChosenPipeline> {
  if (typeof pipeline !== 'string') return { pipeline: pipeline?.map((phase) => Phase.parse(phase)), finish };
  const start = { worktree: stage.worktree, base: (base === undefined ? stage.base : base) ?? null };
  const named = requirePipeline(await pipelinesFor(stage.projectId, start), pipeline);
  return { pipeline: named.phases, finish: finish === undefined ? (named.finish ?? undefined) : finish };
}
