import { useEffect } from 'react';
import { create } from 'zustand';

/** What lies on top: the page, the overlay with its requests, or another dialog, which is over the overlay as well. */
export type Layer = 'page' | 'overlay' | 'dialog';

const useOpenDialogs = create(() => ({ overlay: 0, dialog: 0 }));

const add = (layer: Exclude<Layer, 'page'>, change: number) =>
  useOpenDialogs.setState((open) => ({ [layer]: open[layer] + change }));

/** Takes what is behind a dialog out of reach for as long as the dialog is open. */
export function useCoversPage(opened: boolean, layer: Exclude<Layer, 'page'> = 'dialog'): void {
  useEffect(() => {
    if (!opened) return;
    add(layer, 1);
    return () => add(layer, -1);
  }, [opened, layer]);
}

/** What is on top: nothing below it can be reached, takes keys, or is read out. */
export const useTopLayer = (): Layer =>
  useOpenDialogs(({ overlay, dialog }) => {
    if (dialog > 0) return 'dialog';
    return overlay > 0 ? 'overlay' : 'page';
  });
