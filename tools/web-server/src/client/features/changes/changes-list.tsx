import type { DiffSide, FileContent, FileDiff, StageDiff, StageId } from '@callboard/contract';
import { Box, Button, Loader } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import clsx from 'clsx';
import { memo, useState } from 'react';
import { contentQuery, isOutdated, useReloadDiff } from '../../data/stage-diff.ts';
import { errorText } from '../../lib/api-client.ts';
import { linesText } from '../../lib/comment-text.ts';
import { formatSize } from '../../lib/format.ts';
import { memoizeByObject } from '../../lib/memoize.ts';
import { pathText } from '../../lib/tool-text.ts';
import { languageOf } from '../../ui/code.tsx';
import { type Highlight, useHighlight } from '../../ui/highlighted.tsx';
import { ErrorNote, FailureNote } from '../../ui/notes.tsx';
import { Columns, Hint } from '../../ui/primitives.tsx';
import { Seen } from '../../ui/text.tsx';
import {
  type ChangeRow,
  changedRanges,
  createLineColours,
  numberOn,
  type PatchLine,
  type Piece,
  partners,
  withChanges,
} from './change-rows.ts';
import changedLineStyles from './changed-line.module.css';
import { FileAbout, FileHead, FoldedFile } from './changes-head.tsx';
import { CommentRow, type useWriting } from './comments.tsx';
import contentChangeStyles from './content-change.module.css';
import { useReviewUi } from './line-selection.ts';
import css from './stage-changes.module.css';
import { type ChangesListState, LINE, roomFor } from './use-changes-list.ts';

/** Keys that scroll, or go to a line or a comment. Those that go from file to file start from the chosen one. */
const MOVES_READER = /^(Arrow(Up|Down)|Page(Up|Down)|Home|End|Tab| |n|p)$/;

interface ChangesListProps {
  stageId: StageId;
  diff: StageDiff;
  list: ChangesListState;
  writing: ReturnType<typeof useWriting>;
  me: string;
}

/** The files one after another; the head of the file in view stays at the top. */
export function ChangesList({ stageId, diff, list, writing, me }: ChangesListProps) {
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

interface RowProps extends ChangesListProps {
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
          style={{ height: roomFor(file) }}
          role="status"
          aria-label={`Reading the changes of ${pathText(file.path)}`}
        />
      );
    case 'more':
      return <div style={{ height: LINE }} role="status" aria-label={`Reading more of ${pathText(file.path)}`} />;
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
  const pieces = useColours(lines, languageOf(path));
  const lineAt = (at: number | null) => {
    const line = at === null ? undefined : lines[at];
    return at === null || line === undefined ? null : { line, pieces: pieces(at) };
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

interface ShownLine {
  line: PatchLine;
  pieces: readonly Piece[];
}

const SAID: Readonly<Record<PatchLine['kind'], string>> = {
  same: '',
  removed: 'Removed: ',
  added: 'Added: ',
  gap: '',
  remark: '',
};

/** A line below the one before it, with both numbers. */
const ChangedLine = memo(function ChangedLine({ line, pieces, isPicked }: ShownLine & { isPicked: boolean }) {
  if (line.kind === 'gap' || line.kind === 'remark') return <Between line={line} />;
  return (
    <div className={clsx(changedLineStyles.line, changedLineStyles[line.kind])} data-picked={isPicked || undefined}>
      <LineNumber number={line.before} side="old" isLesser={line.after !== null} />
      <LineNumber number={line.after} side="new" />
      <Code line={line} pieces={pieces} />
    </div>
  );
});

interface PairProps {
  left: ShownLine | null;
  right: ShownLine | null;
  picked: DiffSide | null;
}

/** A line before, and the line after; null where there is none. */
function ChangedPair({ left, right, picked }: PairProps) {
  return (
    <div className={changedLineStyles.pair}>
      <Side shown={left} number={left?.line.before ?? null} side="old" isPicked={picked === 'old'} />
      <Side shown={right} number={right?.line.after ?? null} side="new" isPicked={picked === 'new'} />
    </div>
  );
}

interface SideProps {
  shown: ShownLine | null;
  number: number | null;
  side: DiffSide;
  isPicked: boolean;
}

function Side({ shown, number, side, isPicked }: SideProps) {
  if (shown === null) return <div className={clsx(changedLineStyles.side, changedLineStyles.none)} />;
  return (
    <div
      className={clsx(changedLineStyles.side, changedLineStyles[shown.line.kind])}
      data-picked={isPicked || undefined}
      data-side={side}
    >
      <LineNumber number={number} side={side} />
      <Code {...shown} />
    </div>
  );
}

interface NumberProps {
  number: number | null;
  side: DiffSide;
  /** The line has another number, which is the one to comment on. */
  isLesser?: boolean;
}

/** A line's number; a press on it comments the line. Keys do that from the list, so Tab passes by. */
const LineNumber = ({ number, side, isLesser = false }: NumberProps) =>
  number === null ? (
    <span className={changedLineStyles.number} />
  ) : (
    <button
      type="button"
      className={changedLineStyles.number}
      data-number
      data-side={side}
      data-lesser={isLesser || undefined}
      tabIndex={-1}
      aria-label={side === 'old' ? `Comment on line ${number} of the former version` : `Comment on line ${number}`}
    >
      {number}
    </button>
  );

const Code = ({ line, pieces }: ShownLine) => (
  <span className={changedLineStyles.code}>
    <span className="visually-hidden">{SAID[line.kind]}</span>
    {pieces.map(({ text, className, isChanged }, at) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a line have no identity but their place
      <span key={at} className={clsx(className, isChanged && changedLineStyles.changed)}>
        <Seen text={text} kind="code" />
      </span>
    ))}
    {line.bytes !== undefined && (
      <Hint span size="xs">
        {' '}
        … This line is {formatSize(line.bytes)} long: only its beginning is shown.
      </Hint>
    )}
  </span>
);

const Between = ({ line }: { line: PatchLine }) => (
  <div className={changedLineStyles.between}>
    {line.kind === 'gap' && '⋯ '}
    <Seen text={line.text} kind="code" />
  </div>
);

interface ContentChangeProps {
  stageId: StageId;
  diff: StageDiff;
  file: FileDiff;
}

/** A file's content as a whole: an image before and after, or only how large it was and is. */
function ContentChange({ stageId, diff, file }: ContentChangeProps) {
  const { data, error, refetch } = useQuery(contentQuery(stageId, diff, file));
  const hasBefore = file.status !== 'added';
  const hasAfter = file.status !== 'deleted';
  const hasImage = data !== undefined && [data.before, data.after].some((side) => side?.dataBase64 != null);
  const name = pathText(file.path);
  return (
    <>
      {error !== null && <ErrorNote lead="The content could not be read." error={error} retry={() => void refetch()} />}
      {data === undefined && error === null && (
        <Hint px="lg" py="sm">
          <Loader size="sm" color="gray" role="img" aria-label={`Reading ${name}`} />
        </Hint>
      )}
      {data !== undefined && !hasImage && (
        <Hint px="lg" py="sm">
          {file.isBinary ? 'A binary file: its content is not shown.' : 'This image cannot be shown.'}
        </Hint>
      )}
      {data !== undefined && (
        <Columns min={220} px="lg" py="md">
          {hasBefore && <Content name={name} title="Before" content={data.before} />}
          {hasAfter && <Content name={name} title={hasBefore ? 'After' : 'Added'} content={data.after} />}
        </Columns>
      )}
    </>
  );
}

/** A side of the change. An `<img>` runs nothing of an SVG and loads nothing for it; a data URL has no access to this page even when it is opened alone. */
function Content({ name, title, content }: { name: string; title: string; content: FileContent | null }) {
  const [size, setSize] = useState<string | null>(null);
  const [isBroken, setBroken] = useState(false);
  if (content === null) return null;
  const { bytes, mediaType, dataBase64 } = content;
  return (
    <Box component="figure" m={0} fz="row">
      <figcaption>
        {title}{' '}
        <Hint span size="xs" className="figures">
          {size === null ? formatSize(bytes) : `${size}, ${formatSize(bytes)}`}
        </Hint>
      </figcaption>
      {isBroken && (
        <Hint size="xs" className="figures">
          The browser cannot draw this image.
        </Hint>
      )}
      {!isBroken && mediaType !== null && dataBase64 !== null && (
        <img
          className={contentChangeStyles.image}
          src={`data:${mediaType};base64,${dataBase64}`}
          alt={`${title}: ${name}`}
          onError={() => setBroken(true)}
          onLoad={({ currentTarget: { naturalWidth, naturalHeight } }) => {
            // A drawing may have no size of its own.
            if (mediaType !== 'image/svg+xml') setSize(`${naturalWidth} × ${naturalHeight}`);
          }}
        />
      )}
    </Box>
  );
}

const partnersOf = memoizeByObject<readonly PatchLine[], (number | null)[]>(partners);

/** By patch and language; a patch is one array of lines for as long as it is loaded. */
const piecesOf = memoizeByObject((lines: readonly PatchLine[]) => {
  const known = new Map<string, { highlight: Highlight | null; pieces: (at: number) => readonly Piece[] }>();
  return (language: string | null, highlight: Highlight | null) => {
    const found = known.get(language ?? '');
    if (found !== undefined && found.highlight === highlight) return found.pieces;
    const colour = language === null || highlight === null ? null : (text: string) => highlight(text, language);
    const pieces = createPieces(lines, colour);
    known.set(language ?? '', { highlight, pieces });
    return pieces;
  };
});

/** Returns a function that gives the parts of a line, coloured, with the words marked that changed in it. It remembers them. */
function createPieces(lines: readonly PatchLine[], colour: Parameters<typeof createLineColours>[1]) {
  const colours = createLineColours(lines, colour);
  const made = new Map<number, readonly Piece[]>();
  return (at: number): readonly Piece[] => {
    const before = made.get(at);
    if (before !== undefined) return before;
    const other = partnersOf(lines)[at] ?? null;
    const ranges = other === null ? [] : changedRanges(lines[at]?.text ?? '', lines[other]?.text ?? '');
    const pieces = withChanges(colours(at), ranges);
    made.set(at, pieces);
    return pieces;
  };
}

function useColours(lines: readonly PatchLine[], language: string | null): (at: number) => readonly Piece[] {
  return piecesOf(lines)(language, useHighlight(language !== null));
}
