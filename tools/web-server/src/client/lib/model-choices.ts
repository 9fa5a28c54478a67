import { type Capabilities, Effort, type ModelChoice } from '@callboard/contract';

const alias = (value: string, label: string): ModelChoice => ({
  value,
  label,
  resolved: null,
  description: '',
  efforts: [...Effort.options],
});

/** The aliases of the newest model of each kind: what to offer until Claude Code has said by itself what it has. */
const BEFORE_START: readonly ModelChoice[] = [
  alias('opus', 'Opus'),
  alias('sonnet', 'Sonnet'),
  alias('haiku', 'Haiku'),
];

/** How Claude Code calls the model that it takes by itself; for us that is no model at all. */
const DEFAULT = 'default';

/** The models that may be chosen, without the default one. */
export const modelChoices = (capabilities: Capabilities | null): readonly ModelChoice[] =>
  capabilities?.models.filter(({ value }) => value !== DEFAULT) ?? BEFORE_START;

/** The choice that stands for a model, by what it was chosen by or by what it has become. */
export const choiceOf = (choices: readonly ModelChoice[], model: string): ModelChoice | undefined =>
  choices.find(({ value }) => value === model) ?? choices.find(({ resolved }) => resolved === model);
