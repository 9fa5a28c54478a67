import type { GitSettingItem, GitSettings } from '@callboard/contract';

/** "1 git setting", "2 git settings and 1 hook". */
export function countText({ items }: GitSettings): string {
  const hooks = items.filter(({ kind }) => kind === 'hook').length;
  const others = items.length - hooks;
  const parts = [
    others > 0 ? `${others} git ${others === 1 ? 'setting' : 'settings'}` : '',
    hooks > 0 ? `${hooks} git ${hooks === 1 ? 'hook' : 'hooks'}` : '',
  ];
  return parts.filter((part) => part !== '').join(' and ');
}

/** The kind of an item, in words before its name. */
export const kindLabel: Readonly<Record<GitSettingItem['kind'], string>> = {
  config: 'Setting',
  hook: 'Hook',
  repository: 'Location of the repository',
};
