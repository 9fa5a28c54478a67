import { Effort } from '@callboard/contract';

/** The aliases by which Claude Code knows the newest model of each kind. */
const MODELS = [
  { value: '', label: 'Default model' },
  { value: 'opus', label: 'Opus' },
  { value: 'sonnet', label: 'Sonnet' },
  { value: 'haiku', label: 'Haiku' },
];

/** The models to choose from, with the one in use. */
export const modelOptions = (current: string | null) =>
  current === null || MODELS.some((model) => model.value === current)
    ? MODELS
    : [{ value: current, label: current }, ...MODELS];

const EFFORTS: Record<Effort, string> = {
  low: 'Low',
  medium: 'Medium',
  high: 'High',
  xhigh: 'Extra high',
  max: 'Most',
};

const EFFORT_OPTIONS = Object.entries(EFFORTS).map(([value, label]) => ({ value, label: `${label} effort` }));

export const effortOptions = (current: string | null) =>
  Effort.safeParse(current).success ? EFFORT_OPTIONS : [{ value: '', label: 'Default effort' }, ...EFFORT_OPTIONS];
