import { type Capabilities, Effort, type ModelChoice } from '@callboard/contract';

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
export const modelChoices = (capabilities: Capabilities | null): readonly ModelChoice[] =>
  capabilities?.models.filter(({ value }) => value !== DEFAULT) ?? BEFORE_START;

/** The choice for a model, found by its own name or by the name it resolves to. */
export const choiceOf = (choices: readonly ModelChoice[], model: string): ModelChoice | undefined =>
  choices.find(({ value }) => value === model) ?? choices.find(({ resolved }) => resolved === model);
