import { useEffect, useState } from 'react';
import { create } from 'zustand';

/**
 * What is on top: the page, the request overlay, another dialog (which covers the overlay too), or the overlay again
 * after somebody opened it over a dialog.
 */
export type Layer = 'page' | 'overlay' | 'dialog' | 'above';

const useOpenDialogs = create(() => ({ overlay: 0, dialog: 0, above: 0 }));

const add = (layer: Exclude<Layer, 'page'>, change: number) =>
  useOpenDialogs.setState((open) => ({ [layer]: open[layer] + change }));

/** Makes everything behind a dialog unreachable while the dialog is open. */
export function useCoversPage(opened: boolean, layer: Exclude<Layer, 'page'> = 'dialog'): void {
  useEffect(() => {
    if (!opened) return;
    add(layer, 1);
    return () => add(layer, -1);
  }, [opened, layer]);
}

/** The top layer. Nothing below it can be reached, takes keys, or is read out. */
export const useTopLayer = (): Layer =>
  useOpenDialogs(({ overlay, dialog, above }) => {
    if (above > 0) return 'above';
    if (dialog > 0) return 'dialog';
    return overlay > 0 ? 'overlay' : 'page';
  });

/** How long a dialog takes to fade out and return the focus. */
const CLOSING_MS = 300;

/** True while `isSo` is, and for a moment after: the key that closes one dialog must not act on the next. */
export function useRecentlyShown(isSo: boolean): boolean {
  const [recentlyShown, setRecentlyShown] = useState(isSo);
  useEffect(() => {
    if (isSo) {
      setRecentlyShown(true);
      return;
    }
    const timer = setTimeout(() => setRecentlyShown(false), CLOSING_MS);
    return () => clearTimeout(timer);
  }, [isSo]);
  return isSo || recentlyShown;
}
