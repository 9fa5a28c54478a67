import type { TrustItem } from '@callboard/contract';
import { expect, it } from 'vitest';
import { trustGroups } from './trust-panel.tsx';

const item = (kind: TrustItem['kind'], value: string, isNew = true): TrustItem => ({
  kind,
  value,
  isNew,
  text: 'It does something.',
  file: '.claude/settings.json',
});

it('puts hooks before environment variables, and new items before agreed ones', () => {
  const groups = trustGroups({ items: [item('env', 'A=b'), item('hook', 'old', false), item('hook', 'new')] });
  expect(groups.map(({ title, items }) => `${title}: ${items.map(({ value }) => value).join(', ')}`)).toEqual([
    'Hooks: new, old',
    'Environment: A=b',
  ]);
});
