import { create } from 'zustand';

interface UnsavedDrafts {
  /** The text in each stage's message box that the server does not have yet. */
  byStage: Readonly<Record<string, string>>;
  set(stageId: string, text: string): void;
  /** The server has it: what was typed meanwhile stays. */
  saved(stageId: string, text: string): void;
}

/** What this tab has typed and not yet handed over; all else of a draft lies with the server. */
export const useUnsavedDrafts = create<UnsavedDrafts>((set) => ({
  byStage: {},
  set: (stageId, text) => set(({ byStage }) => ({ byStage: { ...byStage, [stageId]: text } })),
  saved: (stageId, text) =>
    set(({ byStage }) => {
      if (byStage[stageId] !== text) return {};
      const { [stageId]: _, ...rest } = byStage;
      return { byStage: rest };
    }),
}));
