import { Column, type ProjectId, type StageId } from '@callboard/contract';
import { z } from 'zod';
import { create } from 'zustand';
import { readStored, writeStored } from '../../../lib/browser-storage.ts';

/** The form that is open over the board. */
export type BoardForm =
  | { kind: 'new-stage'; projectId: ProjectId | null }
  | { kind: 'edit-stage'; stageId: StageId }
  /** The form for the project's first stage may follow. */
  | { kind: 'add-project'; thenNewStage: boolean }
  | { kind: 'project'; projectId: ProjectId; tab?: 'git' };

/** A card that leaves its column may take this long to appear in the next one. */
const MOVE_MS = 1_000;

/** What only this browser knows of the board. */
interface BoardUi {
  form: BoardForm | null;
  phoneColumn: Column;
  showAllDone: boolean;
  folded: readonly Column[];
  /** By stage: the command of a drop that has no answer yet, in words. */
  sending: Readonly<Record<string, string>>;
  /** The card that left its column while its link had the focus: it was dropped, or moved on its own. */
  focusLeft: { stageId: StageId; at: number } | null;
  open(form: BoardForm): void;
  closeForm(): void;
  setPhoneColumn(column: Column): void;
  showDone(): void;
  toggleFold(column: Column): void;
  setSending(stageId: StageId, words: string | null): void;
  leaveFocused(stageId: StageId): void;
  /** Returns whether the card that appears had the focus in its column just now. It answers true once. */
  takeFocus(stageId: StageId): boolean;
}

const FOLDED = 'callboard-folded';

export const useBoardUi = create<BoardUi>((set, get) => ({
  form: null,
  phoneColumn: 'needs-you',
  showAllDone: false,
  folded: readStored(FOLDED, z.array(Column), []),
  sending: {},
  focusLeft: null,
  open: (form) => set({ form }),
  closeForm: () => set({ form: null }),
  setPhoneColumn: (phoneColumn) => set({ phoneColumn }),
  showDone: () => set({ showAllDone: true }),
  toggleFold: (column) =>
    set(({ folded: old }) => {
      const folded = old.includes(column) ? old.filter((other) => other !== column) : [...old, column];
      writeStored(FOLDED, folded);
      return { folded };
    }),
  setSending: (stageId, words) =>
    set(({ sending: { [stageId]: _, ...rest } }) => ({
      sending: words === null ? rest : { ...rest, [stageId]: words },
    })),
  leaveFocused: (stageId) => set({ focusLeft: { stageId, at: performance.now() } }),
  takeFocus(stageId) {
    const { focusLeft } = get();
    if (focusLeft?.stageId !== stageId || performance.now() - focusLeft.at > MOVE_MS) return false;
    set({ focusLeft: null });
    return true;
  },
}));
