import type { FileDiff, ReviewComment, StageDiff, StageId, ViewedFiles } from '@callboard/contract';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { defaultRangeExtractor, useVirtualizer } from '@tanstack/react-virtual';
import { startTransition, useCallback, useEffect, useEffectEvent, useMemo, useRef, useState } from 'react';
import { viewedQuery } from '../../data/queries.ts';
import { patchPartQuery } from '../../data/stage-diff.ts';
import { useCommand } from '../../data/use-command.tsx';
import { client } from '../../lib/api-client.ts';
import { useSessionUi } from '../../lib/session-ui.ts';
import { type ChangeRow, changeRows, type Loaded, type PatchRead, placeComments, readPatch } from './change-rows.ts';
import type { useWriting } from './comments.tsx';
import { fileKey, useLineHand, useReviewUi, type Writing } from './line-selection.ts';

/** A change with more lines is folded by default. */
const LONG = 1_500;
export const LINE = 20;
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
  const own = writing.writing;
  const { isOpen, isSetAside, isImage } = folding;
  const commented = useMemo(() => Map.groupBy(comments, ({ path }) => path), [comments]);
  const rows = useMemo(() => {
    const commentsOf = (file: FileDiff, lines: Parameters<typeof placeComments>[1]) =>
      placeComments(file, lines, withWriting(commented.get(file.path) ?? [], own, file));
    return changeRows({ files, loadedOf, isSplit, commentsOf, isOpen, isSetAside, isImage });
  }, [files, loadedOf, isSplit, commented, own, isOpen, isSetAside, isImage]);
  const saved = own === undefined ? -1 : rows.findIndex((row) => row.kind === 'comment' && row.id === own.id);
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: useCallback((at: number) => sizeOf(rows[at], files), [rows, files]),
    // With another function, all rows are placed anew.
    getItemKey: useCallback((at: number) => rows[at]?.key ?? at, [rows]),
    overscan: 20,
    useFlushSync: false,
    // Somebody writes there.
    rangeExtractor: (range) => {
      const inSight = defaultRangeExtractor(range);
      return saved === -1 || inSight.includes(saved) ? inSight : [...inSight, saved].toSorted((a, b) => a - b);
    },
  });
  const items = virtualizer.getVirtualItems();
  useEffect(() =>
    ask(
      items.flatMap(({ index }) => {
        const row = rows[index];
        return row?.kind === 'loading' || row?.kind === 'more' ? (files[row.file] ?? []) : [];
      }),
    ),
  );
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
    areAllOpen: useMemo(() => files.every(isOpen), [files, isOpen]),
    openAll: (open: boolean) => folding.setAllOpen(files, open),
    /** How many files were viewed. */
    viewed: useMemo(() => files.filter(isViewed).length, [files, isViewed]),
  };
}

type Folding = ReturnType<typeof useFolding>;

/** Which files are open, and which as an image. A file that was viewed is folded, and so is one that nobody reads from top to bottom. */
function useFolding(stageId: StageId) {
  const opened = useSessionUi((ui) => ui.opened);
  const asText = useReviewUi((ui) => ui.asText);
  const { isViewed, setViewed } = useViewed(stageId);
  const keyOf = (file: FileDiff) => `file:${stageId}:${file.path}`;
  const setOpen = (file: FileDiff, open: boolean) => useSessionUi.getState().setOpen(keyOf(file), open);
  // Functions that stay the same while what they say does: the rows of all files depend on them.
  const said = useMemo(() => {
    const isLong = (file: FileDiff) => file.isGenerated || file.additions + file.deletions > LONG;
    const chosenOf = (file: FileDiff) => opened[`file:${stageId}:${file.path}`];
    return {
      isOpen: (file: FileDiff) => chosenOf(file) ?? !(isLong(file) || isViewed(file)),
      isSetAside: (file: FileDiff) => chosenOf(file) === undefined && isLong(file) && !isViewed(file),
    };
  }, [opened, stageId, isViewed]);
  const isImage = useCallback(
    (file: FileDiff) => isDrawing(file) && asText[fileKey(stageId, file.path)] !== true,
    [asText, stageId],
  );
  return {
    ...said,
    isViewed,
    isImage,
    setOpen,
    setAllOpen: (files: readonly FileDiff[], open: boolean) =>
      useSessionUi.getState().setAllOpen(files.map(keyOf), open),
    setViewed(file: FileDiff, to: boolean) {
      setViewed(file, to);
      setOpen(file, !to);
    },
  };
}

/** The comments of a file, and the one that is being written and is not stored yet. */
function withWriting(comments: readonly ReviewComment[], own: Writing | undefined, { path, version }: FileDiff) {
  if (own === undefined || own.path !== path || comments.some(({ id }) => id === own.id)) return comments;
  const [before = '', after = ''] = version.split('..');
  return [...comments, { ...own, version: own.side === 'old' ? before : after, quote: '' }];
}

function sizeOf(row: ChangeRow | undefined, files: readonly FileDiff[]): number {
  if (row === undefined || row.kind === 'line' || row.kind === 'pair') return LINE;
  if (row.kind === 'file' || row.kind === 'folded') return HEAD;
  if (row.kind === 'comment') return COMMENT;
  if (row.kind === 'about') return 8;
  const file = files[row.file];
  return file === undefined || row.kind === 'more' ? LINE : roomFor(file);
}

/** The height that is kept for the lines of a file until they are read. */
export const roomFor = ({ additions, deletions }: FileDiff): number => Math.min(additions + deletions + 6, 400) * LINE;

const LOADING: Loaded = { state: 'loading' };

/** As many patches are read at once: the browser has few connections, and others need them too. */
const MAX_READS = 3;

interface ReadFile {
  /** The content that was read: see `contentOf`. */
  content: string;
  loaded: Loaded;
  parts: readonly string[];
  read: PatchRead | undefined;
  /** Where the next part begins; null if there is none. */
  from: number | null;
}

/**
 * The patches of the files that were asked for. They come from the same moment as the list of files; a file that has not changed
 * since is not read again.
 */
function usePatches(stageId: StageId, { base, tree }: Pick<StageDiff, 'base' | 'tree'>) {
  const cache = useQueryClient();
  const whole = useReviewUi((ui) => ui.whole);
  const [files, setFiles] = useState<ReadonlyMap<string, ReadFile>>(new Map());
  const reading = useRef(new Set<string>());

  const { readOf, contentOf, isWhole } = useMemo(() => {
    const isWhole = (path: string) => whole[fileKey(stageId, path)] ?? false;
    const contentOf = ({ path, version }: FileDiff) => `${version || `${base}..${tree}`} ${isWhole(path)}`;
    const readOf = (file: FileDiff) => {
      const found = files.get(file.path);
      // What failed is tried again with the next list of files.
      const content = found?.loaded.state === 'failed' ? `${contentOf(file)} ${tree}` : contentOf(file);
      return found?.content === content ? found : undefined;
    };
    return { readOf, contentOf, isWhole };
  }, [files, whole, stageId, base, tree]);

  async function readNext(file: FileDiff, before: ReadFile | undefined, from: number): Promise<ReadFile> {
    const content = contentOf(file);
    const { parts = [], read } = before ?? {};
    try {
      const options = { path: file.path, isWhole: isWhole(file.path), from };
      const { patch, next, cut } = await cache.fetchQuery(patchPartQuery(stageId, { base, tree }, options));
      if (patch === null) return { content, loaded: { ...NOT_SHOWN }, parts, read, from: null };
      const now = readPatch(patch, read, new Map(cut.map(({ line, bytes }) => [line, bytes])));
      const all = [...parts, patch];
      const loaded: Loaded = { state: 'ready', patch: all, lines: now.lines, isPart: next !== null };
      return { content, loaded, parts: all, read: now, from: next };
    } catch (error) {
      const loaded: Loaded = { state: 'failed', error: error instanceof Error ? error : new Error(String(error)) };
      return { content: `${content} ${tree}`, loaded, parts: [], read: undefined, from: null };
    }
  }

  return {
    loadedOf: useCallback((file: FileDiff): Loaded => readOf(file)?.loaded ?? LOADING, [readOf]),
    /** Reads these files, or what follows of them, a few at a time. Called after each, it goes on with those that are in sight then. */
    ask(wanted: readonly FileDiff[]): void {
      for (const file of wanted) {
        const before = readOf(file);
        const from = before === undefined ? 0 : before.from;
        if (from === null || reading.current.size >= MAX_READS || reading.current.has(file.path)) continue;
        reading.current.add(file.path);
        void readNext(file, before, from).then((now) => {
          reading.current.delete(file.path);
          // Whoever scrolls or types meanwhile goes first.
          startTransition(() => setFiles((all) => new Map(all).set(file.path, now)));
        });
      }
    },
  };
}

/** Binary content, or what a newer server does not show. */
const NOT_SHOWN: Loaded = { state: 'ready', patch: null, lines: [], isPart: false };

const NONE: Readonly<ViewedFiles> = {};

type Version = Pick<FileDiff, 'path' | 'version'>;

/** What this person has viewed of a stage's changes, on all their devices. The tick shows at once, and goes if the server refuses it. */
function useViewed(stageId: StageId) {
  const cache = useQueryClient();
  const { queryKey } = viewedQuery(stageId);
  const viewed = useQuery(viewedQuery(stageId)).data ?? NONE;
  const command = useCommand({
    run: (file: { path: string; version: string | null }) => client.command('set_viewed', { stageId, ...file }),
    failed: 'The tick was not stored',
    done: (reply) => void cache.setQueryData(queryKey, reply.viewed),
  });
  return {
    isViewed: useCallback(({ path, version }: Version) => isSameVersion(viewed[path] ?? '', version), [viewed]),
    setViewed({ path, version }: Version, isViewed: boolean) {
      cache.setQueryData(queryKey, (old) => old && { ...old, [path]: isViewed ? version : '' });
      const back = () => void cache.invalidateQueries({ queryKey });
      command.mutate({ path, version: isViewed ? version : null }, { onError: back });
    },
  };
}

/** Whether a file that was viewed in one version counts as viewed in another: with the same content, whatever it is compared with. */
function isSameVersion(viewed: string, version: string): boolean {
  if (viewed === '') return false;
  const [, content] = version.split('..');
  return version !== '' && (viewed === version || (content !== '' && viewed.split('..')[1] === content));
}

export const STATUS_TEXTS: Readonly<Record<FileDiff['status'], string>> = {
  added: 'added',
  modified: 'modified',
  deleted: 'deleted',
  renamed: 'renamed',
};

/** Git's letter for what happened to the file. */
export const statusLetter = ({ status }: Pick<FileDiff, 'status'>): string => status.charAt(0).toUpperCase();

const KINDS: Readonly<Record<string, string>> = {
  '100644': 'file',
  '100755': 'executable file',
  '120000': 'symbolic link',
  '160000': 'submodule',
};

const kindOf = (mode: string) => KINDS[mode] ?? `mode ${mode}`;

/** The kind of a file that is no plain file, and how it changed; null for a plain file. */
export function kindLabel({ oldMode, newMode }: FileDiff): string | null {
  if (oldMode !== null && newMode !== null && oldMode !== newMode) return `${kindOf(oldMode)} → ${kindOf(newMode)}`;
  const mode = newMode ?? oldMode ?? '100644';
  return mode === '100644' ? null : kindOf(mode);
}

const LFS = /^[+-]version https:\/\/git-lfs\.github\.com\/spec\//m;

/** What a patch cannot show of a file, in words; null if it shows everything. */
export function unseenText({ oldMode, newMode, isBinary }: FileDiff, patch: string): string | null {
  if (oldMode === '160000' || newMode === '160000') return 'Another repository: what changes in it is not shown here.';
  if (LFS.test(patch)) return 'Stored in Git LFS: this is the pointer file. The content is not shown here.';
  return isBinary ? 'Git treats this file as binary because it contains NUL characters.' : null;
}

/** Whether a file of text is a drawing, by its name: it is shown as an image, or as text. */
export const isDrawing = ({ path, oldMode, newMode, isBinary }: FileDiff): boolean =>
  !isBinary && /\.svg"?$/i.test(path) && [oldMode, newMode].every((mode) => mode === null || mode.startsWith('100'));

/** Why there are no lines to show; null if there are some, or if the content is shown as a whole. */
export function emptyText({ status, isBinary }: FileDiff, patch: string | null): string | null {
  if (patch === null) return isBinary ? null : 'This change cannot be shown here.';
  if (patch !== '') return null;
  return status === 'added' || status === 'deleted' ? 'An empty file.' : 'Its content is unchanged.';
}

interface CommentJumpOptions {
  files: readonly FileDiff[];
  rows: readonly ChangeRow[];
  comments: readonly ReviewComment[];
  isOpen: (file: FileDiff) => boolean;
  open: (file: FileDiff) => void;
  show: (row: number) => void;
  showFile: (file: number) => void;
}

/** Goes to comments. The file of one is opened, and read, first. */
function useCommentJumps(deps: CommentJumpOptions) {
  const { files, rows, comments } = deps;
  const [wanted, want] = useState<string | null>(null);
  const [target, setTarget] = useState<string | null>(null);
  const at = wanted === null ? -1 : rows.findIndex((row) => row.kind === 'comment' && row.id === wanted);
  const arrive = useEffectEvent(() => {
    if (at === -1) return;
    deps.show(at);
    setTarget(wanted);
    want(null);
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs when the row of the comment is there
  useEffect(() => arrive(), [at, wanted]);

  function goTo(id: string): void {
    const comment = comments.find((one) => one.id === id);
    const file = files.findIndex(({ path }) => path === comment?.path);
    const own = files[file];
    if (own === undefined) return;
    if (!deps.isOpen(own)) deps.open(own);
    if (!rows.some((row) => row.kind === 'comment' && row.id === id)) deps.showFile(file);
    setTarget(null);
    want(id);
  }

  function goToNext(by: 1 | -1): void {
    const shown = comments.filter(({ path }) => files.some((file) => file.path === path));
    const from = shown.findIndex(({ id }) => id === target);
    const next = from === -1 ? shown.at(by > 0 ? 0 : -1) : shown[from + by];
    if (next !== undefined) goTo(next.id);
  }

  return { target, goTo, goToNext };
}
