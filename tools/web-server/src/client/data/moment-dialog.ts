import type { MessageId, StageId } from '@callboard/contract';
import { useStore } from 'zustand';
import { createStore } from 'zustand/vanilla';

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
