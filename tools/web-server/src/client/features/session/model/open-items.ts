import { create } from 'zustand';

interface OpenItems {
  /** What somebody has opened or closed; what is not here stands as it does by itself. */
  chosen: Readonly<Record<string, boolean>>;
  set(key: string, open: boolean): void;
}

/** In the list only what can be seen exists: what was opened has to be remembered beside it. */
const useOpenItems = create<OpenItems>((set) => ({
  chosen: {},
  set: (key, open) => set(({ chosen }) => ({ chosen: { ...chosen, [key]: open } })),
}));

/** Whether an item is open, and how to change that. `key` is one of the item's own, across all stages. */
export function useOpen(key: string, byItself: boolean): [boolean, (open: boolean) => void] {
  const chosen = useOpenItems((items) => items.chosen[key]);
  return [chosen ?? byItself, (open) => useOpenItems.getState().set(key, open)];
}
