import type { FileDiff, StageDiff, StageId } from '@callboard/contract';
import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useEffectEvent, useMemo, useRef, useState } from 'react';
import { usePatches } from '../api/use-patches.ts';
import { type ChangeRow, changeRows } from '../model/change-rows.ts';
import { isViewed, useChangesDisplay } from '../model/changes-display.ts';
import { useSessionUi } from '../model/session-ui.ts';

/** A change with more lines is folded by default. */
const LONG = 1_500;
const LINE = 20;
const HEAD = 36;

interface ChangesListInput {
  stageId: StageId;
  diff: StageDiff;
  isSplit: boolean;
}

export type ChangesListState = ReturnType<typeof useChangesList>;

/** The rows of all files, of which only those in sight exist. A patch is loaded when its place comes into view. */
export function useChangesList({ stageId, diff, isSplit }: ChangesListInput) {
  const { files } = diff;
  const box = useRef<HTMLElement>(null);
  const opened = useSessionUi((ui) => ui.opened);
  const viewed = useChangesDisplay((view) => view.viewed[stageId]);
  const { loadedOf, ask } = usePatches(stageId, diff);
  const keyOf = (file: FileDiff) => `file:${stageId}:${file.path}`;
  const isOpen = (file: FileDiff) =>
    opened[keyOf(file)] ?? (file.additions + file.deletions <= LONG && !isViewed(viewed, file));
  const rows = changeRows({ files, isOpen, loadedOf, isSplit });
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: (at) => sizeOf(rows[at], files),
    getItemKey: (at) => rows[at]?.key ?? at,
    overscan: 20,
  });
  const items = virtualizer.getVirtualItems();
  const wanted = useMemo(
    () => items.flatMap(({ index }) => (rows[index]?.kind === 'loading' ? (files[rows[index].file]?.path ?? []) : [])),
    [items, rows, files],
  );
  useEffect(() => ask(wanted));

  const offset = virtualizer.scrollOffset ?? 0;
  const first = items.find(({ end }) => end > offset + 1);
  const top = rows[first?.index ?? 0]?.file ?? 0;
  // The last files are too near the end to come to the top.
  const [chosen, setChosen] = useState<number | null>(null);
  const bottom = offset + (virtualizer.scrollRect?.height ?? 0);
  const isChosenInView = items.some(
    ({ index, start, end }) =>
      rows[index]?.kind === 'file' && rows[index].file === chosen && end > offset && start < bottom,
  );
  const current = chosen !== null && isChosenInView ? chosen : top;
  const scrollTo = (file: number) => {
    const at = rows.findIndex((row) => row.kind === 'file' && row.file === file);
    if (at !== -1) virtualizer.scrollToIndex(at, { align: 'start' });
  };
  const goTo = (file: number) => {
    setChosen(file);
    scrollTo(file);
    box.current?.focus({ preventScroll: true });
  };
  // What is read above the chosen file changes its place, until the reader moves on.
  const stay = useEffectEvent(() => chosen !== null && scrollTo(chosen));
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs when rows were added or removed
  useEffect(() => void stay(), [rows.length]);
  const setOpen = (file: FileDiff, open: boolean) => useSessionUi.getState().setOpen(keyOf(file), open);
  const setViewed = (file: FileDiff, to: boolean) => {
    useChangesDisplay.getState().setViewed(stageId, file, to);
    setOpen(file, !to);
  };
  return {
    ...{ box, rows, virtualizer, top, current, loadedOf, isOpen, setOpen, setViewed, goTo },
    isViewed: (file: FileDiff) => isViewed(viewed, file),
    /** The reader moves on their own. */
    letGo: () => chosen !== null && setChosen(null),
    /** From the file at the top to one after or before it; a file whose head is not at the top goes to its head first. */
    goBy: (by: number) => {
      const isAtHead = rows[first?.index ?? 0]?.kind === 'file' || current !== top;
      const next = by < 0 && !isAtHead ? current : current + by;
      goTo(Math.min(Math.max(next, 0), files.length - 1));
    },
    toggleViewed: (at: number) => {
      const file = files[at];
      if (file !== undefined) setViewed(file, !isViewed(viewed, file));
    },
    areAllOpen: files.every(isOpen),
    openAll: (open: boolean) => {
      for (const file of files) setOpen(file, open);
    },
  };
}

function sizeOf(row: ChangeRow | undefined, files: readonly FileDiff[]): number {
  if (row === undefined || row.kind === 'line' || row.kind === 'pair') return LINE;
  if (row.kind === 'file') return HEAD;
  if (row.kind === 'about') return 8;
  const file = files[row.file];
  return file === undefined ? LINE : Math.min(file.additions + file.deletions + 6, 400) * LINE;
}
