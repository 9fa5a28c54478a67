import { type StageDiff, type StageView, visibleText } from '@callboard/contract';
import { useElementSize } from '@mantine/hooks';
import { type ReactNode, useState } from 'react';
import { Note } from '../../../ui/note.tsx';
import { isTextField, useShortcuts } from '../../../ui/shortcuts.ts';
import { useChangesDisplay } from '../model/changes-display.ts';
import { ChangesHead } from './changes-head.tsx';
import { ChangesList } from './changes-list.tsx';
import { ChangesTree } from './changes-tree.tsx';
import css from './stage-changes.module.css';
import { useChangesList } from './use-changes-list.ts';

/** Where there is room for the tree beside the files, and for two sides of a file. */
const WIDE_ENOUGH = { tree: 720, split: 760 };

interface ChangesViewProps {
  stage: StageView;
  /** With the files in the order of the tree. */
  diff: StageDiff;
  isLoading: boolean;
  reload: () => void;
  end: ReactNode;
}

/** The tree of the changed files beside their changes; on a narrow page above them, on demand. */
export function ChangesView({ stage, diff, isLoading, reload, end }: ChangesViewProps) {
  const { ref, width } = useElementSize<HTMLDivElement>();
  const hasRoom = width >= WIDE_ENOUGH.tree;
  const [isTreeOpen, setTreeOpen] = useState<boolean | null>(null);
  const showsTree = diff.files.length > 1 && (isTreeOpen ?? hasRoom);
  const wantsSplit = useChangesDisplay(({ layout }) => layout === 'split');
  const canSplit = width - (showsTree && hasRoom ? 260 : 0) >= WIDE_ENOUGH.split;
  const list = useChangesList({ stageId: stage.id, diff, isSplit: wantsSplit && canSplit });
  useFileKeys(list.goBy, (at) => list.toggleViewed(at), list.current);
  const choose = (file: number) => {
    list.goTo(file);
    if (!hasRoom) setTreeOpen(false);
  };
  return (
    <div className={css.frame} ref={ref}>
      <ChangesHead
        stage={stage}
        diff={diff}
        {...{ isLoading, reload, canSplit, showsTree }}
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
        {showsTree && <ChangesTree stageId={stage.id} files={diff.files} current={list.current} choose={choose} />}
        <ChangesList stageId={stage.id} diff={diff} list={list} end={end} />
      </div>
    </div>
  );
}

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
