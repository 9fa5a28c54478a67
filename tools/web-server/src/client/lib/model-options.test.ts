import type { Capabilities } from '@callboard/contract';
import { expect, it } from 'vitest';
import { effortOptions, modelOptions } from './stage-options.ts';

const model = (value: string, resolved: string, efforts: string[] = []) => ({
  value,
  resolved,
  label: value.toUpperCase(),
  description: '',
  efforts,
});
const OFFERED: Capabilities = {
  commands: [],
  models: [
    model('default', 'claude-opus-9'),
    model('opus', 'claude-opus-9', ['low', 'high']),
    model('tiny', 'claude-tiny-1'),
  ],
};

it('offers Claude Code’s models, and finds the current one by its name or by the name it resolves to', () => {
  expect(modelOptions(OFFERED, null)).toEqual({
    value: '',
    options: [
      { value: '', label: 'Default model' },
      { value: 'opus', label: 'OPUS' },
      { value: 'tiny', label: 'TINY' },
    ],
  });
  expect(modelOptions(OFFERED, 'claude-opus-9').value).toBe('opus');
  expect(modelOptions(OFFERED, 'tiny').value).toBe('tiny');
  const other = modelOptions(OFFERED, 'claude-other-2');
  expect(other.value).toBe('claude-other-2');
  expect(other.options).toHaveLength(4);
});

it('falls back to the aliases before the first start', () => {
  expect(modelOptions(null, null).options.map(({ value }) => value)).toEqual(['', 'opus', 'sonnet', 'haiku']);
});

it('offers the model’s efforts, and the current one', () => {
  const values = (model: string | null, current: string | null) =>
    effortOptions(OFFERED, model, current).map(({ value }) => value);
  expect(values('opus', 'high')).toEqual(['low', 'high']);
  expect(values('opus', null)).toEqual(['', 'low', 'high']);
  expect(values('opus', 'max')).toEqual(['max', 'low', 'high']);
  expect(values(null, 'max')).toHaveLength(5);
  expect(values('tiny', null)).toEqual(['']);
});
