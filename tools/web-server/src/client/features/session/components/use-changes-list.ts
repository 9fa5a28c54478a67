import type { FileDiff, ReviewComment, StageDiff, StageId } from '@callboard/contract';
import { defaultRangeExtractor, useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useEffectEvent, useMemo, useRef, useState } from 'react';
import type { useWriting } from '../api/comments.ts';
import { usePatches } from '../api/use-patches.ts';
import { useViewed } from '../api/use-viewed.ts';
import { type ChangeRow, changeRows } from '../model/change-rows.ts';
import { isDrawing } from '../model/file-change-words.ts';
import type { PatchLine } from '../model/patch.ts';
import { placeComments } from '../model/placed-comments.ts';
import { fileKey, useReviewUi, type Writing } from '../model/review-ui.ts';
import { useSessionUi } from '../model/session-ui.ts';
import { useCommentJumps } from './use-comment-jumps.ts';
import { useLineHand } from './use-line-hand.ts';

/** A change with more lines is folded by default. */
const LONG = 1_500;
const LINE = 20;
const HEAD = 36;
/** Measured once it is drawn. */
const COMMENT = 64;

interface ChangesListInput {
  stageId: StageId;
  diff: StageDiff;
  isSplit: boolean;
  /** In the order of the changes. */
  comments: readonly ReviewComment[];
  writing: ReturnType<typeof useWriting>;
}

export type ChangesListState = ReturnType<typeof useChangesList>;

/** The rows of all files, of which only those in sight exist. A patch is loaded when its place comes into view. */
function useRows({ stageId, diff, isSplit, comments, writing }: ChangesListInput, folding: Folding) {
  const { files } = diff;
  const box = useRef<HTMLElement>(null);
  const { loadedOf, ask } = usePatches(stageId, diff);
  const commentsOf = (file: FileDiff, lines: readonly PatchLine[]) =>
    placeComments(file, lines, withWriting(comments, writing.writing, file));
  const rows = changeRows({ files, loadedOf, isSplit, commentsOf, ...folding });
  const saved = rows.findIndex((row) => row.kind === 'comment' && row.id === writing.writing?.id);
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: (at) => sizeOf(rows[at], files),
    getItemKey: (at) => rows[at]?.key ?? at,
    overscan: 20,
    // Somebody writes there.
    rangeExtractor: (range) => {
      const inSight = defaultRangeExtractor(range);
      return saved === -1 || inSight.includes(saved) ? inSight : [...inSight, saved].toSorted((a, b) => a - b);
    },
  });
  const items = virtualizer.getVirtualItems();
  const wanted = useMemo(
    () => items.flatMap(({ index }) => (rows[index]?.kind === 'loading' ? (files[rows[index].file]?.path ?? []) : [])),
    [items, rows, files],
  );
  useEffect(() => ask(wanted));
  return { box, rows, virtualizer, items, loadedOf };
}

/** The list of changes: its rows, where the reader is, and what is open of it. */
export function useChangesList(input: ChangesListInput) {
  const { stageId, diff, comments, writing } = input;
  const { files } = diff;
  const folding = useFolding(stageId);
  const { isOpen, setOpen, isViewed, setViewed } = folding;
  const { box, rows, virtualizer, items, loadedOf } = useRows(input, folding);

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
  // A late event of an earlier scroll can end a later one before its place is reached. Whoever moves on lets the file go first.
  const isLost = chosen !== null && !isChosenInView;
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs again wherever the list has come to
  useEffect(() => {
    if (isLost) stay();
  }, [isLost, chosen, offset]);
  const letGo = () => chosen !== null && setChosen(null);
  const goToRow = (at: number) => {
    letGo();
    virtualizer.scrollToIndex(at, { align: 'auto' });
  };
  const jumps = useCommentJumps({
    files,
    rows,
    comments,
    isOpen,
    open: (file) => setOpen(file, true),
    show: (at) => {
      letGo();
      virtualizer.scrollToIndex(at, { align: 'center' });
    },
    showFile: (file) => {
      letGo();
      scrollTo(file);
    },
  });
  const { finish } = writing;
  const hand = useLineHand({
    stageId,
    files,
    rows,
    loadedOf,
    finish,
    first: first?.index ?? 0,
    scrollTo: goToRow,
    goToNext: jumps.goToNext,
  });
  const whole = useReviewUi((ui) => ui.whole);
  return {
    box,
    rows,
    virtualizer,
    top,
    current,
    loadedOf,
    isOpen,
    setOpen,
    isViewed,
    setViewed,
    goTo,
    comments,
    hand,
    target: jumps.target,
    goToComment: jumps.goTo,
    /** Below the last file. */
    isPastEnd: first === undefined && offset > 0,
    isWhole: ({ path }: FileDiff) => whole[fileKey(stageId, path)] ?? false,
    showWhole: ({ path }: FileDiff, isWhole: boolean) => useReviewUi.getState().showWhole(stageId, path, isWhole),
    isImage: folding.isImage,
    showText: ({ path }: FileDiff, isText: boolean) => useReviewUi.getState().showText(stageId, path, isText),
    /** The reader moves on their own. */
    letGo,
    /** From the file at the top to one after or before it; one the reader scrolled into goes to its head first. */
    goBy: (by: number) => {
      const isAtHead = rows[first?.index ?? 0]?.kind === 'file' || current !== top || current === chosen;
      const next = by < 0 && !isAtHead ? current : current + by;
      goTo(Math.min(Math.max(next, 0), files.length - 1));
    },
    toggleViewed: (at: number) => {
      const file = files[at];
      if (file !== undefined) setViewed(file, !isViewed(file));
    },
    areAllOpen: files.every(isOpen),
    openAll: (open: boolean) => {
      for (const file of files) setOpen(file, open);
    },
  };
}

type Folding = ReturnType<typeof useFolding>;

/** Which files are open, and which as an image. A file that was viewed is folded, and so is one that nobody reads from top to bottom. */
function useFolding(stageId: StageId) {
  const opened = useSessionUi((ui) => ui.opened);
  const asText = useReviewUi((ui) => ui.asText);
  const { isViewed, setViewed } = useViewed(stageId);
  const keyOf = (file: FileDiff) => `file:${stageId}:${file.path}`;
  const isLong = (file: FileDiff) => file.isGenerated || file.additions + file.deletions > LONG;
  const setOpen = (file: FileDiff, open: boolean) => useSessionUi.getState().setOpen(keyOf(file), open);
  return {
    isViewed,
    isImage: (file: FileDiff) => isDrawing(file) && asText[fileKey(stageId, file.path)] !== true,
    isOpen: (file: FileDiff) => opened[keyOf(file)] ?? !(isLong(file) || isViewed(file)),
    isSetAside: (file: FileDiff) => opened[keyOf(file)] === undefined && isLong(file) && !isViewed(file),
    setOpen,
    setViewed(file: FileDiff, to: boolean) {
      setViewed(file, to);
      setOpen(file, !to);
    },
  };
}

/** The comments of a file, and the one that is being written and is not stored yet. */
function withWriting(comments: readonly ReviewComment[], own: Writing | undefined, { path, version }: FileDiff) {
  const stored = comments.filter((comment) => comment.path === path);
  if (own === undefined || own.path !== path || stored.some(({ id }) => id === own.id)) return stored;
  const [before = '', after = ''] = version.split('..');
  return [...stored, { ...own, version: own.side === 'old' ? before : after, quote: '' }];
}

function sizeOf(row: ChangeRow | undefined, files: readonly FileDiff[]): number {
  if (row === undefined || row.kind === 'line' || row.kind === 'pair') return LINE;
  if (row.kind === 'file' || row.kind === 'folded') return HEAD;
  if (row.kind === 'comment') return COMMENT;
  if (row.kind === 'about') return 8;
  const file = files[row.file];
  return file === undefined ? LINE : Math.min(file.additions + file.deletions + 6, 400) * LINE;
}
