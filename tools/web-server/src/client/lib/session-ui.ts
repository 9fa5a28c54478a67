import type { VirtualItem } from '@tanstack/react-virtual';
import { create } from 'zustand';

/** A reader's place in a list of rows whose heights are known only after they were shown. */
export interface Location {
  /** The first row at that time. With another first row the offset means nothing. */
  firstKey: string;
  offset: number;
  /** The heights of the rows that were shown. */
  heights: VirtualItem[];
}

interface SessionUi {
  /** What a person opened or closed, by key. An item that is missing here has its default state. */
  opened: Readonly<Record<string, boolean>>;
  /** Where each list was left. A list that is missing here was left at its end. */
  places: Readonly<Record<string, Location>>;
  setOpen(key: string, open: boolean): void;
  /** Opens or closes these, whatever their default state is. */
  setAllOpen(keys: readonly string[], open: boolean): void;
  /** Remembers a place; null means the end, where every list opens. */
  savePosition(list: string, location: Location | null): void;
}

/** What only this tab knows of the stage pages: rows out of sight do not exist, so their state lives here. */
export const useSessionUi = create<SessionUi>((set) => ({
  opened: {},
  places: {},
  setOpen: (key, open) => set(({ opened }) => ({ opened: { ...opened, [key]: open } })),
  setAllOpen: (keys, open) =>
    set(({ opened }) => ({ opened: { ...opened, ...Object.fromEntries(keys.map((key) => [key, open])) } })),
  savePosition: (list, place) =>
    set(({ places: { [list]: _, ...rest } }) => ({ places: place === null ? rest : { ...rest, [list]: place } })),
}));

/** Whether an item is open, and how to change that. `key` is unique across all stages. */
export function useOpen(key: string, isOpenByDefault: boolean): [boolean, (open: boolean) => void] {
  const chosen = useSessionUi(({ opened }) => opened[key]);
  return [chosen ?? isOpenByDefault, (open) => useSessionUi.getState().setOpen(key, open)];
}

/** The place to return to; null if there is none, or if the list now begins with another row. */
export function positionIn(list: string, firstKey: string | undefined): Location | null {
  const place = useSessionUi.getState().places[list];
  return place !== undefined && place.firstKey === firstKey ? place : null;
}
