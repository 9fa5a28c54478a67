import type { PendingRequest } from '@callboard/contract';
import { create } from 'zustand';
import { requestKey } from '../../../lib/request-words.ts';

interface OverlayState {
  /** The requests that were set aside: they wait in the inbox until a new one arrives or the bell is pressed. */
  aside: ReadonlySet<string>;
  setAside(keys: Iterable<string>): void;
  bringBack(): void;
}

export const useOverlayState = create<OverlayState>((set) => ({
  aside: new Set(),
  setAside: (keys) => set({ aside: new Set(keys) }),
  bringBack: () => set({ aside: new Set() }),
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
