import type { PendingRequest } from '@callboard/contract';
import { create } from 'zustand';
import { requestKey } from '../../../lib/request-text.ts';

interface OverlayState {
  /** The requests that a person set aside. They wait in the inbox until a new one arrives or the bell is pressed. */
  aside: ReadonlySet<string>;
  /** The request that a person asked to see. It may open over a page that has its own form. */
  looked: string | null;
  setAside(keys: Iterable<string>): void;
  bringBack(): void;
  look(key: string): void;
}

export const useOverlayState = create<OverlayState>((set) => ({
  aside: new Set(),
  looked: null,
  setAside: (keys) => set({ aside: new Set(keys), looked: null }),
  bringBack: () => set({ aside: new Set() }),
  look: (key) => set({ looked: key }),
}));

/** Returns the overlay's queue: longest-waiting first, without requests that were set aside and without those of the open stage. */
export function overlayQueue(
  pending: readonly PendingRequest[],
  aside: ReadonlySet<string>,
  ownStageId: string | null,
): PendingRequest[] {
  return inOrder(pending).filter((request) => request.stageId !== ownStageId && !aside.has(requestKey(request)));
}

/** Sorts requests, longest-waiting first. */
export const inOrder = (pending: readonly PendingRequest[]): PendingRequest[] =>
  [...pending].sort((a, b) => a.createdAt.localeCompare(b.createdAt));
