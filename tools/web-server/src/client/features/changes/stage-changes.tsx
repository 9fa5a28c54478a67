import {
  type BranchCommit,
  type CommentId,
  type FileDiff,
  type ReviewComment,
  type StageDiff,
  type StageId,
  type StageView,
  visibleText,
} from '@callboard/contract';
import { Button, Flex, Loader, Text } from '@mantine/core';
import { useElementSize } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { type ComponentType, useDeferredValue, useEffect, useEffectEvent, useMemo, useRef, useState } from 'react';
import { useLocation, useSearchParams } from 'react-router';
import { z } from 'zod';
import { create } from 'zustand';
import { boardQuery, commentsQuery } from '../../data/queries.ts';
import { useSidePane } from '../../data/side-pane.ts';
import { rangeDiffQuery, stageDiffQuery, useReloadDiff, useShownChanges } from '../../data/stage-diff.ts';
import { readStored, writeStored } from '../../lib/browser-storage.ts';
import { authorText, linesText } from '../../lib/comment-text.ts';
import { memoizeByObject } from '../../lib/memoize.ts';
import { pathText } from '../../lib/tool-text.ts';
import { ErrorNote, Note } from '../../ui/notes.tsx';
import { Output } from '../../ui/primitives.tsx';
import { isTextField, useShortcuts } from '../../ui/shortcuts.tsx';
import { Seen } from '../../ui/text.tsx';
import { inOrderOf } from './change-rows.ts';
import { ChangesHead } from './changes-head.tsx';
import { ChangesList } from './changes-list.tsx';
import { ChangesTree, inTreeOrder } from './changes-tree.tsx';
import { ReviewBar, useComments, useWriting } from './comments.tsx';
import { useReviewUi } from './line-selection.ts';
import css from './stage-changes.module.css';
import { useChangesList } from './use-changes-list.ts';

interface StageChangesProps {
  stage: StageView;
  /** Beside the transcript, where the border between them can move. */
  isPane?: boolean;
  /** What can be done with the changes, in the bar below them. */
  EndSlot?: ComponentType<{ stage: StageView }>;
}

/** The stage's changes against its base, committed or not: a tree of files, and one file after another. */
export default function StageChanges({ stage, isPane = false, EndSlot }: StageChangesProps) {
  const range = useReviewUi((ui) => ui.range[stage.id] ?? '');
  const enabled = stage.worktree !== null;
  const all = useQuery({ ...stageDiffQuery(stage.id), enabled });
  const part = useQuery({ ...rangeDiffQuery(stage.id, range), enabled: enabled && range !== '' });
  const { data, error, isFetching, refetch } = range === '' ? all : part;
  const linked = useCommentOfAddress();
  useEffect(() => {
    // A part of the changes may not have its file.
    if (linked !== null) useReviewUi.getState().setRange(stage.id, '');
  }, [linked, stage.id]);
  useEffect(() => {
    if (all.data !== undefined) useShownChanges.getState().show(stage.id, all.data);
  }, [all.data, stage.id]);
  const reload = useReloadDiff(stage.id);
  useReloadAtSteps(stage, reload);
  // Thousands of files are put in order, drawn as a tree and as a list in one task each.
  const shown = useDeferredValue(useShown(range, data), null);
  const saved = data !== undefined || error === null ? shown : null;
  const diff = useMemo(() => saved && { ...saved.diff, files: orderOf(saved.diff.files) }, [saved]);
  return (
    <Flex component="section" direction="column" flex={1} mih={0} miw={0} aria-label="Changes">
      {stage.worktree === null && (
        <Text p="lg" c="dimmed">
          Nothing has changed: the stage was never started.
        </Text>
      )}
      {(stage.worktree === null || all.data !== undefined) && (
        <LinkedComment stageId={stage.id} paths={all.data?.files.map(({ path }) => path) ?? null} />
      )}
      {error !== null && (
        <ErrorNote
          lead="The changes could not be read."
          error={error}
          stageId={stage.id}
          retry={() => void refetch()}
        />
      )}
      {error !== null && range !== '' && (
        <Button variant="default" size="compact-sm" onClick={() => useReviewUi.getState().setRange(stage.id, '')}>
          Show all changes
        </Button>
      )}
      {diff === null && isFetching && (
        <Text p="lg" c="dimmed">
          <Loader size="sm" color="gray" role="img" aria-label="Reading the changes" />
        </Text>
      )}
      {diff !== null && (
        <ChangesView
          stage={stage}
          diff={diff}
          range={saved?.range ?? range}
          commits={all.data?.commits ?? []}
          isPane={isPane}
          isLoading={isFetching}
          reload={reload}
          EndSlot={EndSlot}
        />
      )}
    </Flex>
  );
}

interface Shown {
  range: string;
  diff: StageDiff;
}

/** What was read last, with the range it is of. It stays until another range is read, so that the choice keeps the focus. */
function useShown(range: string, data: StageDiff | undefined): Shown | null {
  const [shown, setShown] = useState<Shown | null>(null);
  if (data === undefined || (shown?.diff === data && shown.range === range)) return shown;
  const now = { range, diff: data };
  setShown(now);
  return now;
}

/** Reloads the changes whenever the session begins to work, waits for a person, or ends a turn: it may have edited files until then. */
function useReloadAtSteps({ session, worktree }: StageView, reload: () => void): void {
  const { stateSince, changes } = session ?? {};
  const step = `${stateSince} ${changes?.files} ${changes?.additions} ${changes?.deletions}`;
  const loadedAt = useRef(step);
  useEffect(() => {
    if (loadedAt.current === step) return;
    loadedAt.current = step;
    if (worktree !== null) reload();
  });
}

const orderOf = memoizeByObject(inTreeOrder);

/** Where there is room for the tree beside the files, and for two sides of a file. */
const WIDE_ENOUGH = { tree: 720, split: 760 };
const TREE = 260;

interface ChangesViewProps {
  stage: StageView;
  /** With the files in the order of the tree. */
  diff: StageDiff;
  /** What `diff` is of: all changes if empty. */
  range: string;
  /** The commits of the branch, newest first. */
  commits: readonly BranchCommit[];
  isPane: boolean;
  isLoading: boolean;
  reload: () => void;
  EndSlot: StageChangesProps['EndSlot'];
}

/** The tree of the changed files beside their changes; above them in a narrow pane, and on a narrow page on demand. */
function ChangesView({ stage, diff, range, commits, isPane, isLoading, reload, EndSlot }: ChangesViewProps) {
  const { ref, width } = useElementSize<HTMLDivElement>();
  const isSplit = useChangesDisplay(({ layout }) => layout === 'split') && width >= WIDE_ENOUGH.split;
  const hasRoom = width >= (isSplit ? TREE + WIDE_ENOUGH.split : WIDE_ENOUGH.tree);
  const [isTreeOpen, setTreeOpen] = useState<boolean | null>(null);
  const showsTree = diff.files.length > 1 && (isTreeOpen ?? (isPane || hasRoom));
  const stored = useComments(stage.id);
  const comments = useMemo(() => inOrderOf(diff.files, stored), [diff.files, stored]);
  const writing = useWriting(stage.id, diff);
  const me = useQuery({ ...boardQuery, select: (view) => view.me.name }).data ?? '';
  const list = useChangesList({ stageId: stage.id, diff, isSplit, comments, writing });
  useLinkedComment(diff.files, comments, list.goToComment);
  useFileKeys(list.goBy, (at) => list.toggleViewed(at), list.current);
  const choose = (file: number) => {
    list.goTo(file);
    if (!hasRoom && !isPane) setTreeOpen(false);
  };
  const toggleSplit = () => {
    useChangesDisplay.getState().setLayout(isSplit ? 'inline' : 'split');
    if (!isSplit && width < WIDE_ENOUGH.split) makeRoomFor(WIDE_ENOUGH.split);
  };
  return (
    <Flex direction="column" flex={1} mih={0} miw={0} ref={ref}>
      <ChangesHead
        stage={stage}
        diff={diff}
        range={range}
        commits={commits}
        viewed={list.viewed}
        isLoading={isLoading}
        reload={reload}
        isSplit={isSplit}
        toggleSplit={toggleSplit}
        showsTree={showsTree}
        canSplit={isPane || width >= WIDE_ENOUGH.split}
        areAllOpen={list.areAllOpen}
        openAll={list.openAll}
        toggleTree={() => setTreeOpen(!showsTree)}
      />
      {diff.unread.length > 0 && (
        <Note>
          Git cannot read these, so they are neither shown nor merged: {visibleText(diff.unread.join(', '), 'command')}
        </Note>
      )}
      <div className={css.panes} data-wide={hasRoom}>
        {showsTree && (
          <ChangesTree files={diff.files} current={list.current} isViewed={list.isViewed} choose={choose} />
        )}
        <ChangesList stageId={stage.id} diff={diff} list={list} writing={writing} me={me} />
      </div>
      <ReviewBar
        stage={stage}
        me={me}
        comments={comments}
        writing={writing}
        hasChanges={diff.files.length > 0}
        EndSlot={EndSlot}
        goTo={list.goToComment}
      />
    </Flex>
  );
}

/** The panes share the width of the page, and the border between them is one pixel of it. */
const makeRoomFor = (width: number): void =>
  useSidePane.getState().makeRoom(((width + 1) / document.documentElement.clientWidth) * 100);

/** `]` and `[` go from file to file anywhere on the page; j, k and v while the focus is not elsewhere. */
function useFileKeys(goBy: (by: number) => void, toggleViewed: (file: number) => void, current: number): void {
  const here = (event: KeyboardEvent) => {
    const target = event.target instanceof Element ? event.target : null;
    return !isTextField(target) && (target === document.body || target?.closest('[aria-label="Changes"]') !== null);
  };
  const when = (act: () => void) => (event: KeyboardEvent) => {
    if (!here(event)) return false;
    act();
    return true;
  };
  const always = (act: () => void) => () => {
    act();
    return true;
  };
  useShortcuts({
    ']': always(() => goBy(1)),
    '[': always(() => goBy(-1)),
    j: when(() => goBy(1)),
    k: when(() => goBy(-1)),
    v: when(() => toggleViewed(current)),
  });
}

const LAYOUT = 'callboard-changes-layout';
const Layout = z.enum(['inline', 'split']);
type Layout = z.infer<typeof Layout>;

interface ChangesDisplay {
  layout: Layout;
  setLayout(layout: Layout): void;
}

/** How this browser shows changes. */
const useChangesDisplay = create<ChangesDisplay>((set) => ({
  layout: readStored(LAYOUT, Layout, 'inline'),
  setLayout(layout) {
    writeStored(LAYOUT, layout);
    set({ layout });
  },
}));

/** The comment that the address names (`?comment=...`); null if it names none. */
const useCommentOfAddress = (): string | null => useSearchParams()[0].get('comment');

/** Goes to the comment that the address names, once for each time that the address is followed. */
function useLinkedComment(
  files: readonly FileDiff[],
  comments: readonly ReviewComment[],
  goTo: (id: CommentId) => void,
): void {
  const id = useCommentOfAddress();
  const { key } = useLocation();
  /** What comes later must not scroll away from where the reader is by then. */
  const [followed, setFollowed] = useState<string | null>(null);
  const comment = comments.find((one) => one.id === id);
  const isDue = followed !== key && files.some(({ path }) => path === comment?.path);
  const follow = useEffectEvent(() => {
    if (comment === undefined) return;
    setFollowed(key);
    goTo(comment.id);
  });
  useEffect(() => {
    if (isDue) follow();
  }, [isDue]);
}

interface LinkedCommentProps {
  stageId: StageId;
  /** The files that have changed; null if there is nothing that could be compared. */
  paths: readonly string[] | null;
}

/** The comment that the address names, if the changes have no place for it. */
function LinkedComment({ stageId, paths }: LinkedCommentProps) {
  const id = useCommentOfAddress();
  const { data: comments } = useQuery({ ...commentsQuery(stageId), enabled: id !== null });
  if (id === null || comments === undefined) return null;
  const comment = comments.find((one) => one.id === id);
  if (comment === undefined) return <Note>This comment was removed.</Note>;
  return paths?.includes(comment.path) ? null : <Placeless comment={comment} />;
}

function Placeless({ comment }: { comment: ReviewComment }) {
  const me = useQuery({ ...boardQuery, select: (view) => view.me.name }).data ?? '';
  return (
    <Note>
      {authorText(comment, me)} on {linesText(comment)} of {pathText(comment.path)}, which is not among the changes now:
      <Output>
        <Seen text={comment.quote} kind="code" />
      </Output>
      <p className="pre-wrap">
        <Seen text={comment.text} kind="prose" />
      </p>
    </Note>
  );
}
