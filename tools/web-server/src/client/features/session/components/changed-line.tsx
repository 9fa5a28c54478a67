import type { DiffSide } from '@callboard/contract';
import clsx from 'clsx';
import { memo } from 'react';
import { Seen } from '../../../ui/seen.tsx';
import type { Piece } from '../model/line-colours.ts';
import type { PatchLine } from '../model/patch.ts';
import css from './changed-line.module.css';

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
export const ChangedLine = memo(function ChangedLine({ line, pieces, isPicked }: ShownLine & { isPicked: boolean }) {
  if (line.kind === 'gap' || line.kind === 'remark') return <Between line={line} />;
  return (
    <div className={clsx(css.line, css[line.kind])} data-picked={isPicked || undefined}>
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
export function ChangedPair({ left, right, picked }: PairProps) {
  return (
    <div className={css.pair}>
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
  if (shown === null) return <div className={clsx(css.side, css.none)} />;
  return (
    <div className={clsx(css.side, css[shown.line.kind])} data-picked={isPicked || undefined} data-side={side}>
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
    <span className={css.number} />
  ) : (
    <button
      type="button"
      className={css.number}
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
  <span className={css.code}>
    <span className="visually-hidden">{SAID[line.kind]}</span>
    {pieces.map(({ text, className, isChanged }, at) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a line have no identity but their place
      <span key={at} className={clsx(className, isChanged && css.changed)}>
        <Seen text={text} kind="code" />
      </span>
    ))}
  </span>
);

const Between = ({ line }: { line: PatchLine }) => (
  <div className={css.between}>
    {line.kind === 'gap' && '⋯ '}
    <Seen text={line.text} kind="code" />
  </div>
);
