import { useStore } from 'zustand';
import { createStore } from 'zustand/vanilla';

const limitsDialog = createStore(() => ({ isOpen: false }));

/** Shows the account's usage limits, and what happens at one. */
export const openLimitsDialog = (): void => limitsDialog.setState({ isOpen: true });

export const closeLimitsDialog = (): void => limitsDialog.setState({ isOpen: false });

export const useLimitsDialog = (): boolean => useStore(limitsDialog, ({ isOpen }) => isOpen);
