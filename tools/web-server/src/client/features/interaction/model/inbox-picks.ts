import { create } from 'zustand';

/** The requests that a person picked in the inbox, to decide them together, by their keys. */
interface InboxPicks {
  picked: ReadonlySet<string>;
  /** Those that were drawn where the person could look at them, for long enough. */
  looked: ReadonlySet<string>;
  /** Whether the rows show their boxes although nothing is picked yet. */
  isPicking: boolean;
  toggle(keys: readonly string[]): void;
  clear(): void;
  check(key: string): void;
  startPicking(): void;
}

export const useInboxPicks = create<InboxPicks>((set) => ({
  picked: new Set(),
  looked: new Set(),
  isPicking: false,
  /** Takes all of them out if all are in, else puts all in. */
  toggle: (keys) =>
    set(({ picked }) => {
      const isAll = keys.every((key) => picked.has(key));
      return { picked: new Set(isAll ? [...picked].filter((key) => !keys.includes(key)) : [...picked, ...keys]) };
    }),
  clear: () => set({ picked: new Set(), isPicking: false }),
  check: (key) => set(({ looked }) => (looked.has(key) ? { looked } : { looked: new Set([...looked, key]) })),
  startPicking: () => set({ isPicking: true }),
}));
