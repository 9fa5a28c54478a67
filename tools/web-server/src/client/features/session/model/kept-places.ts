import type { VirtualItem } from '@tanstack/react-virtual';

/** Where somebody was in a list of rows whose heights are known only once they were shown. */
interface Place {
  /** The first row then: with another one the offset means nothing. */
  firstKey: string;
  offset: number;
  /** The heights of the rows that were shown. */
  heights: VirtualItem[];
}

const places = new Map<string, Place>();

/** Remembers a place for as long as this page lives; null: at the end, where every list opens. */
export function keepPlace(list: string, place: Place | null): void {
  if (place === null) places.delete(list);
  else places.set(list, place);
}

/** The place to come back to; null where there is none, or none any more. */
export function placeIn(list: string, firstKey: string | undefined): Place | null {
  const place = places.get(list);
  return place !== undefined && place.firstKey === firstKey ? place : null;
}
