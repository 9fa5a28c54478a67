import {
  type Capabilities,
  Effort,
  type FinishWay,
  type ModelChoice,
  mergedSettings,
  type PermissionMode,
  type Phase,
  type Project,
} from '@callboard/contract';

interface Chosen {
  options: { value: string; label: string }[];
  value: string;
}

/** The models to choose from, and the current one, which is added if it is missing. */
export function modelOptions(capabilities: Capabilities | null, current: string | null): Chosen {
  const choices = modelChoices(capabilities);
  const options = [{ value: '', label: 'Default model' }, ...choices.map(({ value, label }) => ({ value, label }))];
  if (current === null) return { options, value: '' };
  const chosen = choiceOf(choices, current);
  if (chosen !== undefined) return { options, value: chosen.value };
  return { options: [{ value: current, label: current }, ...options], value: current };
}

const EFFORTS: Record<Effort, string> = {
  low: 'Low',
  medium: 'Medium',
  high: 'High',
  xhigh: 'Very high',
  max: 'Maximum',
};

/** The efforts the model supports; all of them if the model is unknown. */
export function effortOptions(
  capabilities: Capabilities | null,
  model: string | null,
  current: string | null,
): { value: string; label: string }[] {
  const choice = model === null ? undefined : choiceOf(modelChoices(capabilities), model);
  const efforts = Effort.options.filter((effort) => choice === undefined || choice.efforts.includes(effort));
  const options = efforts.map((value) => ({ value: String(value), label: `${EFFORTS[value]} effort` }));
  const isAmong = options.some(({ value }) => value === current);
  return isAmong ? options : [{ value: current ?? '', label: current ?? 'Default effort' }, ...options];
}

const alias = (value: string, label: string): ModelChoice => ({
  value,
  label,
  resolved: null,
  description: '',
  efforts: [...Effort.options],
});

/** The aliases of the newest models, offered until Claude Code reports what it has. */
const BEFORE_START: readonly ModelChoice[] = [
  alias('opus', 'Opus'),
  alias('sonnet', 'Sonnet'),
  alias('haiku', 'Haiku'),
];

/** Claude Code's name for its default model. In Callboard that is no model. */
const DEFAULT = 'default';

/** The models to choose from, without the default model. */
const modelChoices = (capabilities: Capabilities | null): readonly ModelChoice[] =>
  capabilities?.models.filter(({ value }) => value !== DEFAULT) ?? BEFORE_START;

/** The choice for a model, found by its own name or by the name it resolves to. */
const choiceOf = (choices: readonly ModelChoice[], model: string): ModelChoice | undefined =>
  choices.find(({ value }) => value === model) ?? choices.find(({ resolved }) => resolved === model);

/** Each permission mode, in words for the person who is asked. */
const MODES: Record<PermissionMode, string> = {
  default: 'Ask before edits and commands',
  acceptEdits: 'Edit freely, ask for the rest',
  plan: 'Plan first, change nothing',
  dontAsk: 'Don’t ask: deny anything without a rule',
  auto: 'Auto: Claude Code decides what is safe',
  bypassPermissions: 'Allow everything',
};

export const MODE_OPTIONS = Object.entries(MODES).map(([value, label]) => ({ value, label }));

/** The modes a session can change to. While it runs, Claude Code accepts the last one only if it was started with it. */
export const modeOptionsOf = (isLive: boolean, ...has: readonly string[]) =>
  MODE_OPTIONS.filter(({ value }) => value !== 'bypassPermissions' || !isLive || has.includes(value));

/** A mode in words; an unknown mode keeps its name. */
export const modeLabel = (mode: string): string => MODE_OPTIONS.find((option) => option.value === mode)?.label ?? mode;

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
  return { way: finish, origin: isOfFile ? 'from callboard.yaml' : 'project default' };
}

interface Finished {
  finish: FinishWay | null;
  pipeline: readonly Pick<Phase, 'gate'>[];
}

/**
 * What happens to a stage after its last phase, and who decided that: "Merges automatically (project default)".
 * @param chosenBy who decided it if the stage says it
 */
export function finishOfStage(
  { finish, pipeline }: Finished,
  project: Finishing | undefined,
  chosenBy = 'set for this stage',
): string {
  const ofProject =
    project === undefined ? { way: 'none' as const, origin: 'project default' } : projectFinish(project);
  const { way, origin } = finish === null ? ofProject : { way: finish, origin: chosenBy };
  if (way !== 'none' && pipeline.at(-1)?.gate === 'human') return `${FINISH_TEXTS.none} (the last phase ends with you)`;
  return `${FINISH_TEXTS[way]} (${origin})`;
}
