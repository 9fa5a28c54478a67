import { useEffect, useRef } from 'react';
import { useNavigate } from 'react-router';
import type { Layer } from '../ui/dialog-layers.ts';
import { useShortcuts } from '../ui/shortcuts.ts';
import { closeFrameUi, openHelp, openPalette, useFrameUi } from './frame-store.ts';
import { useOpenNewStage } from './use-open-new-stage.ts';

/** A page's letter counts this long after the G before it. */
const SEQUENCE_MS = 1_500;

const PAGES: Readonly<Record<string, string>> = { b: '/', i: '/inbox', s: '/sessions', d: '/decisions' };

/** The keys that work on every page. The palette's key works over the request overlay as well. */
export function useFrameKeys(top: Layer): void {
  const isBehindDialog = top !== 'page';
  const navigate = useNavigate();
  const writeStage = useOpenNewStage();
  const pressedG = useRef(Number.NEGATIVE_INFINITY);
  const go = (key: string) => () => {
    const page = PAGES[key];
    if (isBehindDialog || page === undefined || performance.now() - pressedG.current > SEQUENCE_MS) return false;
    pressedG.current = Number.NEGATIVE_INFINITY;
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
      pressedG.current = performance.now();
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
