import { commandsOf, findPipeline, type NamedPipeline, type SettingsProblem } from '@callboard/contract';
import { Rejection } from '../lib/errors.ts';

/** The pipelines that a project offers. */
export interface PipelineSource {
  pipelines: readonly NamedPipeline[];
  /** Why `callboard.yaml` cannot be used; its pipelines are missing then. */
  problems: readonly SettingsProblem[];
  /** Whether people agreed to everything that `callboard.yaml` would run. */
  isAgreed: boolean;
}

/**
 * Returns the pipeline with this name, whatever its case.
 * @throws Rejection `unknown_pipeline`, which lists the names; `settings_not_agreed` for one of `callboard.yaml` that runs commands or
 *   finishes stages before people have agreed to that
 */
export function requirePipeline({ pipelines, problems, isAgreed }: PipelineSource, name: string): NamedPipeline {
  const found = findPipeline(pipelines, name);
  if (found === null) {
    const known = pipelines.map((one) => `"${one.name}"`).join(', ');
    const [problem] = problems;
    const broken =
      problem === undefined
        ? ''
        : ` Those of callboard.yaml are missing, because it cannot be used (line ${problem.line}).`;
    throw new Rejection('unknown_pipeline', `There is no pipeline "${name}". There are ${known}.${broken}`);
  }
  const acts = commandsOf(found).length > 0 || (found.finish !== null && found.finish !== 'none');
  if (found.origin === 'file' && acts && !isAgreed) {
    const message = `Nobody has agreed yet to what the pipeline "${found.name}" of callboard.yaml would run. Review it on the project's Rules page.`;
    throw new Rejection('settings_not_agreed', message);
  }
  return found;
}
