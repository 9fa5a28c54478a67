import type { LookingAt, StageId } from '@callboard/contract';
import type { Edges } from '../lib/edges.ts';

/**
 * Which stages people look at, in whatever tab of whatever device. Kept in memory: pages say it again every half minute, so that a restart
 * or a lost page costs no more than one needless notification.
 */
export interface Attendance {
  /** What a person looks at in one tab, for the next minute; null: nothing any more. */
  tell(person: string, tabId: string, at: LookingAt | null): void;
  isLooking(person: string, stageId: StageId): boolean;
}

const VALID_MS = 60_000;
/** More tabs of one person than anybody uses. */
const MOST_TABS = 200;

interface Tab {
  at: LookingAt;
  untilMs: number;
}

export function createAttendance({ uptimeMs }: Pick<Edges, 'uptimeMs'>): Attendance {
  const people = new Map<string, Map<string, Tab>>();

  function tabsOf(person: string): Map<string, Tab> {
    const tabs = people.get(person) ?? new Map<string, Tab>();
    for (const [tabId, { untilMs }] of tabs) if (untilMs <= uptimeMs()) tabs.delete(tabId);
    return tabs;
  }

  return {
    tell(person, tabId, at) {
      const tabs = tabsOf(person);
      tabs.delete(tabId);
      if (at !== null) tabs.set(tabId, { at, untilMs: uptimeMs() + VALID_MS });
      for (const oldest of [...tabs.keys()].slice(0, Math.max(0, tabs.size - MOST_TABS))) tabs.delete(oldest);
      people.set(person, tabs);
    },
    isLooking: (person, stageId) =>
      [...tabsOf(person).values()].some(({ at }) => at === 'everything' || at === stageId),
  };
}
