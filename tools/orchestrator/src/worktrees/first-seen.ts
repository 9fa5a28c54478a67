import { dirname } from 'node:path';
import type { GitSettingItem } from '@callboard/contract';
import type { Repositories } from './git-guard.ts';
import { locate } from './git-place.ts';

/** Without a store: what stands in a repository when we first call git in it counts as agreed, as long as this process lives. */
export function firstSeen(): Repositories {
  const agreed = new Map<string, readonly GitSettingItem[]>();
  return {
    async find(folder) {
      const place = locate(folder);
      if (place === null) return null;
      const root = place.isPlain ? folder : dirname(place.commonDir);
      return { id: root, root, agreed: agreed.get(root) ?? null };
    },
    async begin(id, items) {
      if (!agreed.has(id)) agreed.set(id, items);
      return agreed.get(id) ?? items;
    },
    tell: () => undefined,
  };
}
