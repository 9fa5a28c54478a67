import type { PendingRequest } from '@callboard/contract';
import { create } from 'zustand';
import { requestKey } from '../../../lib/request-words.ts';

interface OverlayState {
  /** The requests that were set aside: they wait in the inbox until a new one arrives or the bell is pressed. */
  aside: ReadonlySet<string>;
  /** The request that somebody asked to see: it may come over a page that has a form of its own. */
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

/** What the overlay goes through: the longest waiting first, without what was set aside and without one stage's own. */
export function overlayQueue(
  pending: readonly PendingRequest[],
  aside: ReadonlySet<string>,
  ownStageId: string | null,
): PendingRequest[] {
  return inOrder(pending).filter((request) => request.stageId !== ownStageId && !aside.has(requestKey(request)));
}

/** The longest waiting first. */
export const inOrder = (pending: readonly PendingRequest[]): PendingRequest[] =>
  [...pending].sort((a, b) => a.createdAt.localeCompare(b.createdAt));
