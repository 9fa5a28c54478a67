import { dirname } from 'node:path';
import type { GitSettingItem } from '@callboard/contract';
import { locateCheckout } from './locate-checkout.ts';

/** The repositories that Callboard calls git in, with the git settings that people agreed to. */
export interface Repositories {
  /** Finds the repository whose main checkout, or worktree of a stage, is this folder; null if it is none of Callboard's. */
  find(folder: string): Promise<CachedRepository | null>;
  /**
   * Agrees to the settings found at the first look: a person set them up, since nothing of Callboard has run there yet.
   * @returns the settings that are agreed to from now on
   */
  agreeOnFirstUse(id: string, items: readonly GitSettingItem[]): Promise<readonly GitSettingItem[]>;
  /** Hears which settings of a checkout nobody has agreed to; called again only if they change. */
  reportPending(id: string, checkout: string, pending: readonly GitSettingItem[]): void;
}

export interface CachedRepository {
  id: string;
  /** Its main checkout. */
  root: string;
  /** null before the first look. */
  agreed: readonly GitSettingItem[] | null;
}

/** Works without a store: agrees to the settings that a repository has at the first call of git in it, until this process ends. */
export function trustOnFirstUse(): Repositories {
  const agreed = new Map<string, readonly GitSettingItem[]>();
  return {
    async find(folder) {
      const place = locateCheckout(folder);
      if (place === null) return null;
      const root = place.isPlain ? folder : dirname(place.commonDir);
      return { id: root, root, agreed: agreed.get(root) ?? null };
    },
    async agreeOnFirstUse(id, items) {
      if (!agreed.has(id)) agreed.set(id, items);
      return agreed.get(id) ?? items;
    },
    reportPending: () => undefined,
  };
}
