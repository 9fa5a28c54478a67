import { useEffect, useState } from 'react';
import { create } from 'zustand';

/**
 * What lies on top: the page, the overlay with a request, another dialog, which is over the overlay as well, or the
 * overlay once more, where somebody asked for it over a dialog.
 */
export type Layer = 'page' | 'overlay' | 'dialog' | 'above';

const useOpenDialogs = create(() => ({ overlay: 0, dialog: 0, above: 0 }));

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
  useOpenDialogs(({ overlay, dialog, above }) => {
    if (above > 0) return 'above';
    if (dialog > 0) return 'dialog';
    return overlay > 0 ? 'overlay' : 'page';
  });

/** A dialog fades out, and gives the focus back, in this time. */
const CLOSING_MS = 300;

/** True while something is so, and for a moment after: the key that closed a dialog is not meant for the next one. */
export function useLately(isSo: boolean): boolean {
  const [lately, setLately] = useState(isSo);
  useEffect(() => {
    if (isSo) {
      setLately(true);
      return;
    }
    const timer = setTimeout(() => setLately(false), CLOSING_MS);
    return () => clearTimeout(timer);
  }, [isSo]);
  return isSo || lately;
}
