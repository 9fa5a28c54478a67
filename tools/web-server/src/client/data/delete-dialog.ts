import type { StageId } from '@callboard/contract';
import { useStore } from 'zustand';
import { createStore } from 'zustand/vanilla';

interface DeleteDialogState {
  /** The stage that a person is about to delete; null while they are not. */
  stageId: StageId | null;
}

const deleteDialog = createStore<DeleteDialogState>(() => ({ stageId: null }));

/** Asks before a stage is deleted: every way to deleting one goes through this. */
export const openDeleteDialog = (stageId: StageId): void => deleteDialog.setState({ stageId });

export const closeDeleteDialog = (): void => deleteDialog.setState({ stageId: null });

/** The stage that the dialog is open for; null while it is closed. */
export const useDeleteDialogStage = (): StageId | null => useStore(deleteDialog, ({ stageId }) => stageId);
