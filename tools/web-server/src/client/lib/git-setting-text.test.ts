import type { GitSettingItem } from '@callboard/contract';
import { expect, it } from 'vitest';
import { countText } from './git-settings-text.ts';

const item = (kind: GitSettingItem['kind']): GitSettingItem => ({
  kind,
  name: 'core.fsmonitor',
  value: '/tmp/run',
  file: '/shop/.git/config',
  contents: null,
});

it.each<[GitSettingItem['kind'][], string]>([
  [['config'], '1 git setting'],
  [['hook', 'hook'], '2 git hooks'],
  [['config', 'repository', 'hook'], '2 git settings and 1 git hook'],
])('counts %j in words', (kinds, text) => {
  expect(countText({ needed: true, hash: 'h', items: kinds.map(item) })).toBe(text);
});
