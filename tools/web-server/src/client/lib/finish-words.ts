import { type FinishWay, mergedSettings, type Phase, type Project } from '@callboard/contract';

/** What happens after the last phase, in a word or two. */
export const FINISH_TEXTS: Readonly<Record<FinishWay, string>> = {
  none: 'You finish it',
  merge: 'Merges automatically',
  'pull-request': 'Opens a pull request automatically',
};

export const FINISH_OPTIONS = (['none', 'merge', 'pull-request'] as const).map((value) => ({
  value,
  label: FINISH_TEXTS[value],
}));

/** Who decides how a stage is finished, in the order in which they are asked. */
export const FINISH_ORDER = 'The stage decides first, then its pipeline, callboard.yaml, and the project’s settings.';

/** Whether people agreed to everything that `callboard.yaml` would run. */
export const isFileAgreed = ({ trust }: Pick<Project, 'trust'>): boolean =>
  trust.items.every(({ file, isNew }) => file !== 'callboard.yaml' || !isNew);

type Finishing = Pick<Project, 'settings' | 'file' | 'trust'>;

/** How a project finishes stages that do not say so themselves: nothing by its file alone before people agreed to that. */
export function projectFinish(project: Finishing): { way: FinishWay; origin: string } {
  const isOfFile = project.file?.settings.finish !== undefined;
  if (isOfFile && !isFileAgreed(project)) return { way: 'none', origin: 'until somebody agrees to callboard.yaml' };
  const { finish } = mergedSettings(project.settings, project.file?.settings ?? {});
  return { way: finish, origin: isOfFile ? 'as callboard.yaml says' : 'as the project says' };
}

interface Finished {
  finish: FinishWay | null;
  pipeline: readonly Pick<Phase, 'gate'>[];
}

/**
 * What happens to a stage after its last phase, and who decided that: "Merges automatically, as the project says".
 * @param chosenBy who decided it if the stage says it
 */
export function finishOfStage(
  { finish, pipeline }: Finished,
  project: Finishing | undefined,
  chosenBy = 'set for this stage',
): string {
  const ofProject =
    project === undefined ? { way: 'none' as const, origin: 'as the project says' } : projectFinish(project);
  const { way, origin } = finish === null ? ofProject : { way: finish, origin: chosenBy };
  if (way !== 'none' && pipeline.at(-1)?.gate === 'human')
    return `${FINISH_TEXTS.none}, because the last phase ends with you`;
  return `${FINISH_TEXTS[way]}, ${origin}`;
}
