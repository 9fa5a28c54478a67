import type { StageId, Viewing } from '@callboard/contract';
import type { Platform } from '../lib/edges.ts';

/**
 * Which stages people look at, in whatever tab of whatever device. Kept in memory: pages say it again every half minute, so that a restart
 * or a lost page costs no more than one needless notification.
 */
export interface Presence {
  /** What a person looks at in one tab, for the next minute; null: nothing any more. */
  notify(person: string, tabId: string, at: Viewing | null): void;
  isLooking(person: string, stageId: StageId): boolean;
}

const VALID_MS = 60_000;
/** More tabs of one person than anybody uses. */
const MAX_TABS = 200;

interface Tab {
  at: Viewing;
  untilMs: number;
}

export function createPresence({ uptimeMs }: Pick<Platform, 'uptimeMs'>): Presence {
  const people = new Map<string, Map<string, Tab>>();

  function tabsOf(person: string): Map<string, Tab> {
    const tabs = people.get(person) ?? new Map<string, Tab>();
    for (const [tabId, { untilMs }] of tabs) if (untilMs <= uptimeMs()) tabs.delete(tabId);
    return tabs;
  }

  return {
    notify(person, tabId, at) {
      const tabs = tabsOf(person);
      tabs.delete(tabId);
      if (at !== null) tabs.set(tabId, { at, untilMs: uptimeMs() + VALID_MS });
      for (const oldest of [...tabs.keys()].slice(0, Math.max(0, tabs.size - MAX_TABS))) tabs.delete(oldest);
      people.set(person, tabs);
    },
    isLooking: (person, stageId) =>
      [...tabsOf(person).values()].some(({ at }) => at === 'everything' || at === stageId),
  };
}
