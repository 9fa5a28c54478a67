import type { StageId } from '@callboard/contract';
import { useStore } from 'zustand';
import { createStore } from 'zustand/vanilla';

interface CompleteDialogState {
  /** The stage that a person is about to complete, or to merge; null while they are not. */
  stageId: StageId | null;
}

const completeDialog = createStore<CompleteDialogState>(() => ({ stageId: null }));

/**
 * Asks how a stage is to be completed, or a done stage merged: every way to completing a stage goes through this. The dialog says
 * what would be merged and what would be left.
 */
export const openCompleteDialog = (stageId: StageId): void => completeDialog.setState({ stageId });

export const closeCompleteDialog = (): void => completeDialog.setState({ stageId: null });

/** The stage that the dialog is open for; null while it is closed. */
export const useCompleteDialogStage = (): StageId | null => useStore(completeDialog, ({ stageId }) => stageId);
