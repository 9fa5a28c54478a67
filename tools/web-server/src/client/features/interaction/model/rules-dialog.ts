import type { ProjectId } from '@callboard/contract';
import { create } from 'zustand';

interface RulesDialogState {
  /** Whose rules are shown; null while the dialog is closed. */
  projectId: ProjectId | null;
  open(projectId: ProjectId): void;
  close(): void;
}

/** The dialog with what was allowed for good; from any page: `useRulesDialog.getState().open(projectId)`. */
export const useRulesDialog = create<RulesDialogState>((set) => ({
  projectId: null,
  open: (projectId) => set({ projectId }),
  close: () => set({ projectId: null }),
}));
