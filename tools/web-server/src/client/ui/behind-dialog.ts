import { useEffect } from 'react';
import { create } from 'zustand';

const useOpenDialogs = create(() => ({ count: 0 }));

const add = (change: number) => useOpenDialogs.setState(({ count }) => ({ count: count + change }));

/** Takes the page behind a dialog out of reach for as long as the dialog is open. */
export function useCoversPage(opened: boolean): void {
  useEffect(() => {
    if (!opened) return;
    add(1);
    return () => add(-1);
  }, [opened]);
}

/** Whether the page is behind a dialog: nothing on it can be reached, and nobody is told of it. */
export const useIsBehindDialog = (): boolean => useOpenDialogs(({ count }) => count > 0);
