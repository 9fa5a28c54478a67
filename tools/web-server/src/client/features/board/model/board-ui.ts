import { Column, type ProjectId, type StageId } from '@callboard/contract';
import { z } from 'zod';
import { create } from 'zustand';
import { readStored, writeStored } from '../../../lib/stored.ts';

/** The form that is open over the board. */
export type BoardForm =
  | { kind: 'new-stage'; projectId: ProjectId | null }
  | { kind: 'edit-stage'; stageId: StageId }
  /** After the project is added, the form for its first stage may follow. */
  | { kind: 'add-project'; thenNewStage: boolean }
  | { kind: 'project'; projectId: ProjectId; tab?: 'git' };

/** What only this browser knows of the board. */
interface BoardUi {
  form: BoardForm | null;
  phoneColumn: Column;
  showAllDone: boolean;
  folded: readonly Column[];
  /** What was asked for by a drop and has not been answered, by stage, in words. */
  sending: Readonly<Record<string, string>>;
  open(form: BoardForm): void;
  closeForm(): void;
  setPhoneColumn(column: Column): void;
  showDone(): void;
  toggleFold(column: Column): void;
  setSending(stageId: StageId, words: string | null): void;
}

const FOLDED = 'callboard-folded';

export const useBoardUi = create<BoardUi>((set) => ({
  form: null,
  phoneColumn: 'needs-you',
  showAllDone: false,
  folded: readStored(FOLDED, z.array(Column), []),
  sending: {},
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
}));
