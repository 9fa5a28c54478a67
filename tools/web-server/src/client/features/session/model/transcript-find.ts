import type { StageId } from '@callboard/contract';
import { create } from 'zustand';

interface TranscriptFind {
  /** The stage whose transcript is searched, and for what. Null if none is. `times`: how often it was asked for. */
  open: { stageId: StageId; text: string; times: number } | null;
  start(stageId: StageId): void;
  setText(text: string): void;
  close(): void;
}

/** The search in a transcript. It stays open while rows come and go. */
export const useTranscriptFind = create<TranscriptFind>((set) => ({
  open: null,
  start: (stageId) =>
    set(({ open }) => ({
      open: open?.stageId === stageId ? { ...open, times: open.times + 1 } : { stageId, text: '', times: 1 },
    })),
  setText: (text) => set(({ open }) => ({ open: open === null ? null : { ...open, text } })),
  close: () => set({ open: null }),
}));
