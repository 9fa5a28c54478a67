import type { StateCreator, StoreApi } from 'zustand';

const made = new Set<() => void>();

/** Remembers a store of the page's modules, and what it begins with. Returns the store. */
export function remembered<T, Store extends StoreApi<T>>(store: Store, initial: StateCreator<T>): Store {
  made.add(() => store.setState(initial(store.setState, store.getState, store), true));
  return store;
}

/** Every store begins anew, as in a new tab: with what the browser keeps. */
export function inNewTab(): void {
  for (const begin of made) begin();
}
