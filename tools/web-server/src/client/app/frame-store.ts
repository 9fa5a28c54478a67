import { create } from 'zustand';

/** What the frame shows over the page. */
export const useFrameUi = create<{ open: 'palette' | 'help' | 'logins' | null }>(() => ({ open: null }));

export const openPalette = (): void => useFrameUi.setState({ open: 'palette' });
export const openHelp = (): void => useFrameUi.setState({ open: 'help' });
export const openLogins = (): void => useFrameUi.setState({ open: 'logins' });
export const closeFrameUi = (): void => useFrameUi.setState({ open: null });
