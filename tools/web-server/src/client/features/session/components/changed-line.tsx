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
export const ChangedLine = memo(function ChangedLine({ line, pieces }: ShownLine) {
  if (line.kind === 'gap' || line.kind === 'remark') return <Between line={line} />;
  return (
    <div className={clsx(css.line, css[line.kind])}>
      <span className={css.number}>{line.before}</span>
      <span className={css.number}>{line.after}</span>
      <Code line={line} pieces={pieces} />
    </div>
  );
});

/** A line before, and the line after; null where there is none. */
export function ChangedPair({ left, right }: { left: ShownLine | null; right: ShownLine | null }) {
  return (
    <div className={css.pair}>
      <Side shown={left} number={left?.line.before ?? null} />
      <Side shown={right} number={right?.line.after ?? null} />
    </div>
  );
}

function Side({ shown, number }: { shown: ShownLine | null; number: number | null }) {
  if (shown === null) return <div className={clsx(css.side, css.none)} />;
  return (
    <div className={clsx(css.side, css[shown.line.kind])}>
      <span className={css.number}>{number}</span>
      <Code {...shown} />
    </div>
  );
}

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
