import type { StageId } from '@callboard/contract';
import { useEffect, useEffectEvent } from 'react';
import { useShortcuts } from '../../../ui/shortcuts.ts';
import { useTranscriptFind } from '../model/transcript-find.ts';

/** Gives the focus to the transcript, where its keys work. */
export function focusTranscript(): void {
  document.querySelector<HTMLElement>('section[aria-label="Transcript"]')?.focus({ preventScroll: true });
}

function focusComposer(): boolean {
  const box = document.querySelector<HTMLTextAreaElement>('textarea[aria-label="Message"]');
  if (box === null || box.disabled) return false;
  box.focus();
  return true;
}

interface StageKeysOptions {
  stageId: StageId;
  /** Something lies over the page; its keys are not the page's. */
  isCovered: boolean;
  /** Makes the transcript visible where only one pane is. */
  showTranscript: () => void;
}

/** The keys of a stage's page: `m` writes, `/` and Ctrl+F find, Escape goes from the message back to the transcript. */
export function useStageKeys({ stageId, isCovered, showTranscript }: StageKeysOptions): void {
  const find = () => {
    if (isCovered) return false;
    showTranscript();
    useTranscriptFind.getState().start(stageId);
    return true;
  };
  useShortcuts({ m: () => !isCovered && focusComposer(), '/': find });
  const onKeyDown = useEffectEvent((event: KeyboardEvent) => {
    if (event.defaultPrevented || isCovered) return;
    const isFind =
      event.key.toLowerCase() === 'f' && (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey;
    if (isFind && find()) event.preventDefault();
    if (event.key === 'Escape' && isComposer(event.target)) focusTranscript();
  });
  useEffect(() => {
    const listener = (event: KeyboardEvent) => onKeyDown(event);
    document.addEventListener('keydown', listener);
    return () => document.removeEventListener('keydown', listener);
  }, []);
  useEffect(() => () => useTranscriptFind.getState().close(), []);
}

const isComposer = (target: EventTarget | null): boolean =>
  target instanceof HTMLTextAreaElement && target.getAttribute('aria-label') === 'Message';
