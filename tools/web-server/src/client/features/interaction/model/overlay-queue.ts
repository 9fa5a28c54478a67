import type { PendingRequest } from '@callboard/contract';
import { create } from 'zustand';
import { requestKey } from '../../../lib/request-text.ts';

interface OverlayState {
  /** The requests that this tab is setting aside; also those that the server could not be told of. */
  leaving: ReadonlySet<string>;
  /** The request that a person asked to see. It may open over a page that has its own form. */
  looked: string | null;
  leave(keys: Iterable<string>): void;
  /** The server has been told. */
  left(key: string): void;
  check(key: string): void;
  stopChecking(): void;
}

export const useOverlayState = create<OverlayState>((set) => ({
  leaving: new Set(),
  looked: null,
  leave: (keys) => set(({ leaving }) => ({ leaving: new Set([...leaving, ...keys]), looked: null })),
  left: (key) => set(({ leaving }) => ({ leaving: new Set([...leaving].filter((other) => other !== key)) })),
  check: (key) => set({ looked: key }),
  stopChecking: () => set({ looked: null }),
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

/** Returns where a request stands among those that wait: "1 of 3", or "1 new · 13 in the inbox". */
export function positionText(waiting: number, aside: number): string {
  if (aside === 0) return waiting > 1 ? `1 of ${waiting}` : '';
  return aside === waiting ? `${waiting} in the inbox` : `${waiting - aside} new · ${waiting} in the inbox`;
}
