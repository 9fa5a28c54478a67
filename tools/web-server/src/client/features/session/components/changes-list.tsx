import { type StageDiff, type StageId, visibleText } from '@callboard/contract';
import { Button } from '@mantine/core';
import type { ReactNode } from 'react';
import { errorText } from '../../../lib/api-client.ts';
import { languageOf } from '../../../lib/code-language.ts';
import { FailureNote } from '../../../ui/note.tsx';
import { isOutdated, useReloadDiff } from '../api/stage-diff.ts';
import type { ChangeRow } from '../model/change-rows.ts';
import { ChangedLine, ChangedPair } from './changed-line.tsx';
import { FileAbout, FileHead } from './file-change.tsx';
import css from './stage-changes.module.css';
import type { ChangesListState } from './use-changes-list.ts';
import { useColours } from './use-colours.ts';

interface ChangesListProps {
  stageId: StageId;
  diff: StageDiff;
  list: ChangesListState;
  end: ReactNode;
}

/** The files one after another; the head of the file in view stays at the top. */
export function ChangesList({ stageId, diff, list, end }: ChangesListProps) {
  const { box, rows, virtualizer, top } = list;
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
      onPointerDown={list.letGo}
      onKeyDown={list.letGo}
    >
      {file !== undefined && (
        <div className={css.pinned} aria-hidden>
          <FileHead file={file} list={list} isCopy />
        </div>
      )}
      <div className={css.column} style={{ height: virtualizer.getTotalSize() }}>
        {virtualizer.getVirtualItems().map(({ key, index, start }) => (
          <div
            key={key}
            ref={virtualizer.measureElement}
            data-index={index}
            className={css.row}
            style={{ transform: `translateY(${start}px)` }}
          >
            {rows[index] !== undefined && <Row stageId={stageId} diff={diff} row={rows[index]} list={list} />}
          </div>
        ))}
      </div>
      {end}
    </section>
  );
}

interface RowProps {
  stageId: StageId;
  diff: StageDiff;
  row: ChangeRow;
  list: ChangesListState;
}

function Row({ stageId, diff, row, list }: RowProps) {
  const file = diff.files[row.file];
  if (file === undefined) return null;
  const loaded = list.loadedOf(file);
  switch (row.kind) {
    case 'file':
      return <FileHead file={file} list={list} />;
    case 'loading':
      return (
        <div
          className={css.unread}
          style={{ height: Math.min(file.additions + file.deletions + 6, 400) * 20 }}
          role="status"
          aria-label={`Reading the changes of ${visibleText(file.path, 'command')}`}
        />
      );
    case 'failed':
      return loaded.state === 'failed' ? <Failed stageId={stageId} error={loaded.error} /> : null;
    case 'about':
      return loaded.state === 'ready' ? <FileAbout file={file} patch={loaded.patch} /> : null;
    case 'line':
    case 'pair':
      return loaded.state === 'ready' ? <Lines lines={loaded.lines} path={file.path} row={row} /> : null;
    default:
      return row satisfies never;
  }
}

interface LinesProps {
  lines: Parameters<typeof useColours>[0];
  path: string;
  row: Extract<ChangeRow, { kind: 'line' | 'pair' }>;
}

function Lines({ lines, path, row }: LinesProps) {
  const piecesOf = useColours(lines, languageOf(path));
  const lineAt = (at: number | null) => {
    const line = at === null ? undefined : lines[at];
    return at === null || line === undefined ? null : { line, pieces: piecesOf(at) };
  };
  if (row.kind === 'pair') return <ChangedPair left={lineAt(row.left)} right={lineAt(row.right)} />;
  const own = lineAt(row.at);
  return own === null ? null : <ChangedLine {...own} />;
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
