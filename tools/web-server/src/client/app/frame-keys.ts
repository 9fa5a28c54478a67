import { useEffect } from 'react';
import { useNavigate } from 'react-router';
import type { Layer } from '../ui/behind-dialog.ts';
import { useShortcuts } from '../ui/shortcut.ts';
import { closeFrameUi, openHelp, openPalette, useFrameUi } from './frame-ui.ts';
import { useWriteStage } from './use-write-stage.ts';

const SEQUENCE_MS = 1_500;
let wentAt = Number.NEGATIVE_INFINITY;

const PAGES: Readonly<Record<string, string>> = { b: '/', i: '/inbox', s: '/sessions', d: '/decisions' };

/** The keys that work on every page: on the page itself, and the palette's over the overlay with its requests as well. */
export function useFrameKeys(top: Layer): void {
  const isBehindDialog = top !== 'page';
  const navigate = useNavigate();
  const writeStage = useWriteStage();
  const go = (key: string) => () => {
    const page = PAGES[key];
    if (isBehindDialog || page === undefined || performance.now() - wentAt > SEQUENCE_MS) return false;
    wentAt = Number.NEGATIVE_INFINITY;
    void navigate(page);
  };
  const unlessBehind = (act: () => void) => () => {
    if (isBehindDialog) return false;
    act();
  };
  useShortcuts({
    '?': unlessBehind(openHelp),
    n: unlessBehind(writeStage),
    '/': () => {
      const field = document.querySelector<HTMLElement>('[data-shortcut="find"]');
      if (isBehindDialog || field === null) return false;
      field.focus();
    },
    g: unlessBehind(() => {
      wentAt = performance.now();
    }),
    b: go('b'),
    i: go('i'),
    s: go('s'),
    d: go('d'),
  });
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const isPalette = event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey) && !event.altKey;
      if (!isPalette || event.shiftKey) return;
      event.preventDefault();
      const isOpen = useFrameUi.getState().open === 'palette';
      if (isOpen) closeFrameUi();
      else if (top === 'page' || top === 'overlay') openPalette();
    };
    document.addEventListener('keydown', onKeyDown);
    return () => document.removeEventListener('keydown', onKeyDown);
  }, [top]);
}
