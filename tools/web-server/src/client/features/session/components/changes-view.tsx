import { type BranchCommit, type StageDiff, type StageView, visibleText } from '@callboard/contract';
import { useElementSize } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useMemo, useState } from 'react';
import { boardQuery } from '../../../data/queries.ts';
import { Note } from '../../../ui/note.tsx';
import { isTextField, useShortcuts } from '../../../ui/shortcuts.ts';
import { useComments, useWriting } from '../api/comments.ts';
import { useChangesDisplay } from '../model/changes-display.ts';
import { inOrderOf } from '../model/placed-comments.ts';
import { useSidePane } from '../model/side-pane.ts';
import { ChangesHead } from './changes-head.tsx';
import { ChangesList } from './changes-list.tsx';
import { ChangesTree } from './changes-tree.tsx';
import { ReviewBar } from './review-bar.tsx';
import css from './stage-changes.module.css';
import { useChangesList } from './use-changes-list.ts';
import { useLinkedComment } from './use-linked-comment.ts';

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
  end: ReactNode;
}

/** The tree of the changed files beside their changes; above them in a narrow pane, and on a narrow page on demand. */
export function ChangesView({ stage, diff, range, commits, isPane, isLoading, reload, end }: ChangesViewProps) {
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
    <div className={css.frame} ref={ref}>
      <ChangesHead
        stage={stage}
        diff={diff}
        range={range}
        commits={commits}
        viewed={diff.files.filter(list.isViewed).length}
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
        <ChangesList stageId={stage.id} diff={diff} list={list} writing={writing} me={me} end={end} />
      </div>
      <ReviewBar
        stage={stage}
        me={me}
        comments={comments}
        writing={writing}
        hasChanges={diff.files.length > 0}
        goTo={list.goToComment}
      />
    </div>
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
