import type { StageDiff } from '@callboard/contract';
import { create } from 'zustand';

interface ShownChanges {
  /** By stage: the end of its changes that this tab had on screen last. */
  shown: Readonly<Record<string, Pick<StageDiff, 'head' | 'tree'>>>;
  show(stageId: string, diff: StageDiff): void;
}

/** What a person was shown. What was read for them and arrived when they had left is not. */
export const useShownChanges = create<ShownChanges>((set) => ({
  shown: {},
  show: (stageId, { head, tree }) => set(({ shown }) => ({ shown: { ...shown, [stageId]: { head, tree } } })),
}));
