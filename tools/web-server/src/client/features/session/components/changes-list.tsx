import type { StageDiff, StageId } from '@callboard/contract';
import { Button } from '@mantine/core';
import type { ReactNode } from 'react';
import { errorText } from '../../../lib/api-client.ts';
import { languageOf } from '../../../lib/code-language.ts';
import { pathText } from '../../../lib/paths.ts';
import { FailureNote } from '../../../ui/note.tsx';
import type { useWriting } from '../api/comments.ts';
import { isOutdated, useReloadDiff } from '../api/stage-diff.ts';
import type { ChangeRow } from '../model/change-rows.ts';
import { linesText } from '../model/comment-words.ts';
import { numberOn } from '../model/placed-comments.ts';
import { useReviewUi } from '../model/review-ui.ts';
import { ChangedLine, ChangedPair } from './changed-line.tsx';
import { CommentRow } from './comment-row.tsx';
import { ContentChange } from './content-change.tsx';
import { FileAbout, FileHead, FoldedFile } from './file-change.tsx';
import css from './stage-changes.module.css';
import type { ChangesListState } from './use-changes-list.ts';
import { useColours } from './use-colours.ts';

/** Keys that scroll, or go to a line or a comment. Those that go from file to file start from the chosen one. */
const MOVES_READER = /^(Arrow(Up|Down)|Page(Up|Down)|Home|End|Tab| |n|p)$/;

interface ChangesListProps {
  stageId: StageId;
  diff: StageDiff;
  list: ChangesListState;
  writing: ReturnType<typeof useWriting>;
  me: string;
  end: ReactNode;
}

/** The files one after another; the head of the file in view stays at the top. */
export function ChangesList({ stageId, diff, list, writing, me, end }: ChangesListProps) {
  const { box, rows, virtualizer, top, hand } = list;
  const file = diff.files[top];
  return (
    <section
      className={css.list}
      ref={box}
      aria-label="Changed files"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls has to be reached by keyboard
      tabIndex={0}
      onWheel={list.letGo}
      onTouchMove={list.letGo}
      onPointerDown={(event) => {
        list.letGo();
        hand.onPointerDown(event);
      }}
      onPointerMove={hand.onPointerMove}
      onClick={hand.onClick}
      onKeyDown={(event) => {
        if (MOVES_READER.test(event.key)) list.letGo();
        hand.onKeyDown(event);
      }}
    >
      {file !== undefined && !list.isPastEnd && (
        <div className={css.pinned} aria-hidden>
          <FileHead file={file} list={list} isCopy />
        </div>
      )}
      <LineInHand stageId={stageId} />
      <div className={css.column} style={{ height: virtualizer.getTotalSize() }}>
        {virtualizer.getVirtualItems().map(({ key, index, start }) => (
          <div
            key={key}
            ref={virtualizer.measureElement}
            data-index={index}
            className={css.row}
            style={{ transform: `translateY(${start}px)` }}
          >
            {rows[index] !== undefined && (
              <Row stageId={stageId} diff={diff} list={list} writing={writing} me={me} row={rows[index]} />
            )}
          </div>
        ))}
      </div>
      {end}
    </section>
  );
}

/** Tells a screen reader which lines the keys have in hand. */
function LineInHand({ stageId }: { stageId: StageId }) {
  const hand = useReviewUi((ui) => ui.hand[stageId]);
  return (
    <div className="visually-hidden" aria-live="polite">
      {hand !== undefined && `${linesText(hand)} of ${pathText(hand.path)}`}
    </div>
  );
}

interface RowProps extends Omit<ChangesListProps, 'end'> {
  row: ChangeRow;
}

function Row({ stageId, diff, row, list, writing, me }: RowProps) {
  const file = diff.files[row.file];
  if (file === undefined) return null;
  const loaded = list.loadedOf(file);
  switch (row.kind) {
    case 'file':
      return <FileHead file={file} list={list} />;
    case 'folded':
      return <FoldedFile file={file} show={() => list.setOpen(file, true)} />;
    case 'loading':
      return (
        <div
          className={css.unread}
          style={{ height: Math.min(file.additions + file.deletions + 6, 400) * 20 }}
          role="status"
          aria-label={`Reading the changes of ${pathText(file.path)}`}
        />
      );
    case 'failed':
      return loaded.state === 'failed' ? <Failed stageId={stageId} error={loaded.error} /> : null;
    case 'about':
      return loaded.state === 'ready' ? (
        <>
          <FileAbout file={file} patch={loaded.patch} />
          {((loaded.patch === null && file.isBinary) || list.isImage(file)) && (
            <ContentChange stageId={stageId} diff={diff} file={file} />
          )}
        </>
      ) : null;
    case 'comment':
      return (
        <CommentRow
          stageId={stageId}
          me={me}
          writing={writing}
          target={list.target}
          isAside={row.isAside}
          comment={list.comments.find(({ id }) => id === row.id) ?? null}
        />
      );
    case 'line':
    case 'pair':
      return loaded.state === 'ready' ? (
        <Lines stageId={stageId} lines={loaded.lines} path={file.path} row={row} />
      ) : null;
    default:
      return row satisfies never;
  }
}

interface LinesProps {
  stageId: StageId;
  lines: Parameters<typeof useColours>[0];
  path: string;
  row: Extract<ChangeRow, { kind: 'line' | 'pair' }>;
}

function Lines({ stageId, lines, path, row }: LinesProps) {
  const piecesOf = useColours(lines, languageOf(path));
  const lineAt = (at: number | null) => {
    const line = at === null ? undefined : lines[at];
    return at === null || line === undefined ? null : { line, pieces: piecesOf(at) };
  };
  const left = lineAt(row.kind === 'pair' ? row.left : row.at);
  const right = row.kind === 'pair' ? lineAt(row.right) : left;
  const picked = useReviewUi((ui) => {
    const own = ui.writing[stageId] ?? ui.hand[stageId];
    if (own === undefined || own.path !== path) return null;
    const shown = own.side === 'old' ? left : right;
    const number = shown === null ? null : numberOn(shown.line, own.side);
    return number !== null && number >= own.line && number <= own.endLine ? own.side : null;
  });
  if (row.kind === 'pair') return <ChangedPair left={left} right={right} picked={picked} />;
  return left === null ? null : <ChangedLine {...left} isPicked={picked !== null} />;
}

function Failed({ stageId, error }: { stageId: StageId; error: Error }) {
  const reloadDiff = useReloadDiff(stageId);
  return (
    <FailureNote>
      {errorText(error)}{' '}
      {isOutdated(error) && (
        <Button size="compact-sm" variant="default" onClick={reloadDiff}>
          Reload the changes
        </Button>
      )}
    </FailureNote>
  );
}
