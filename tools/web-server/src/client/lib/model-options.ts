import { type Capabilities, Effort } from '@callboard/contract';
import { choiceOf, modelChoices } from './model-choices.ts';

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
  xhigh: 'Extra high',
  max: 'Most',
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
