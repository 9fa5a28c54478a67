import type { ProjectId, RuleOffer } from '@callboard/contract';
import { create } from 'zustand';

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
