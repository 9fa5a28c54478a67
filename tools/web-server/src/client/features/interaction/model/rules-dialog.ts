import type { ProjectId } from '@callboard/contract';
import { create } from 'zustand';

interface RulesDialogState {
  /** The project whose rules are shown; null while the dialog is closed. */
  projectId: ProjectId | null;
  open(projectId: ProjectId): void;
  close(): void;
}

/** The state of the dialog with the kept rules. Any page opens it with `useRulesDialog.getState().open(projectId)`. */
export const useRulesDialog = create<RulesDialogState>((set) => ({
  projectId: null,
  open: (projectId) => set({ projectId }),
  close: () => set({ projectId: null }),
}));
