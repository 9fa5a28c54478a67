import type { Budget, MessageId, ProjectId, RuleOffer, StageId } from '@callboard/contract';
import { create, useStore } from 'zustand';
import { createStore } from 'zustand/vanilla';

interface BudgetsDialog {
  isOpen: boolean;
  /** The only budget to show; null: those of all stages, and of each project. */
  scope: Budget['scope'] | null;
}

const budgetsDialog = createStore<BudgetsDialog>(() => ({ isOpen: false, scope: null }));

/** Shows what is spent and how much may be. @param scope one budget; all if left out */
export const openBudgets = (scope: Budget['scope'] | null = null): void =>
  budgetsDialog.setState({ isOpen: true, scope });

export const closeBudgets = (): void => budgetsDialog.setState({ isOpen: false });

export const useBudgetsDialog = (): BudgetsDialog => useStore(budgetsDialog);

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

const limitsDialog = createStore(() => ({ isOpen: false }));

/** Shows the account's usage limits, and what happens at one. */
export const openLimitsDialog = (): void => limitsDialog.setState({ isOpen: true });

export const closeLimitsDialog = (): void => limitsDialog.setState({ isOpen: false });

export const useLimitsDialog = (): boolean => useStore(limitsDialog, ({ isOpen }) => isOpen);

/** What a person is about to do at a moment of a conversation. */
export interface MomentAction {
  kind: 'back' | 'fork';
  stageId: StageId;
  /** The message that the moment is before. */
  message: { id: MessageId; text: string };
}

const momentDialog = createStore<{ action: MomentAction | null }>(() => ({ action: null }));

/** Asks before a stage goes back to a message, or is forked there: every way to either goes through this. */
export const openMomentDialog = (action: MomentAction): void => momentDialog.setState({ action });

export const closeMomentDialog = (): void => momentDialog.setState({ action: null });

/** What the dialog is open for; null while it is closed. */
export const useMomentDialog = (): MomentAction | null => useStore(momentDialog, ({ action }) => action);

interface RulesDialogState {
  /** The project whose rules are shown; null while the dialog is closed. */
  projectId: ProjectId | null;
  /** Rules that are offered on top; null if none are. */
  offer: RuleOffer | null;
  open(projectId: ProjectId): void;
  /** Opens it with an offer. */
  review(offer: RuleOffer): void;
  /** Takes the offer away, and leaves the rules open. */
  endOffer(): void;
  close(): void;
}

/** The state of the dialog with the kept rules. Any page opens it with `useRulesDialog.getState().open(projectId)`. */
export const useRulesDialog = create<RulesDialogState>((set) => ({
  projectId: null,
  offer: null,
  open: (projectId) => set({ projectId, offer: null }),
  review: (offer) => set({ projectId: offer.projectId, offer }),
  endOffer: () => set({ offer: null }),
  close: () => set({ projectId: null, offer: null }),
}));
