import type { Column, StageId } from '@callboard/contract';
import { create } from 'zustand';

/** A row that a person is moving to another column. */
interface Lifted {
  stageId: StageId;
  by: 'keys' | 'pointer';
  /** The column that it would be dropped on; null outside of all. */
  over: Column | null;
}

interface LiftedStore {
  lifted: Lifted | null;
  /** What a screen reader is told of it. */
  said: string;
  lift(lifted: Lifted, said: string): void;
  moveOver(over: Column | null, said: string): void;
  putDown(said: string): void;
}

/** The row that is being moved, by pointer or by keyboard. */
export const useLifted = create<LiftedStore>((set) => ({
  lifted: null,
  said: '',
  lift: (lifted, said) => set({ lifted, said }),
  moveOver: (over, said) =>
    set((state) =>
      state.lifted === null || state.lifted.over === over ? state : { lifted: { ...state.lifted, over }, said },
    ),
  putDown: (said) => set((state) => (state.lifted === null ? state : { lifted: null, said })),
}));
