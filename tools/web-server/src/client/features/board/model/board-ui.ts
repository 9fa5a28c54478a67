import type { Column, ProjectId } from '@callboard/contract';
import { create } from 'zustand';

/** What only this tab knows of the board. */
interface BoardUi {
  /** The form that is open over the board. */
  form: 'new-stage' | 'add-project' | null;
  /** After the project is added, the form for its first stage follows. */
  thenNewStage: boolean;
  /** The project that a new stage starts with. */
  projectId: ProjectId | null;
  phoneColumn: Column;
  showAllDone: boolean;
  openNewStage(projectId?: ProjectId): void;
  openAddProject(options?: { thenNewStage: boolean }): void;
  closeForm(): void;
  setPhoneColumn(column: Column): void;
  showDone(): void;
}

export const useBoardUi = create<BoardUi>((set) => ({
  form: null,
  thenNewStage: false,
  projectId: null,
  phoneColumn: 'needs-you',
  showAllDone: false,
  openNewStage: (projectId) => set({ form: 'new-stage', ...(projectId === undefined ? {} : { projectId }) }),
  openAddProject: (options) => set({ form: 'add-project', thenNewStage: options?.thenNewStage ?? false }),
  closeForm: () => set({ form: null }),
  setPhoneColumn: (phoneColumn) => set({ phoneColumn }),
  showDone: () => set({ showAllDone: true }),
}));
