import { Fragment } from 'react';
import css from './marked-text.module.css';

interface MarkedTextProps {
  text: string;
  /** Pairs of a start and an end, in order. */
  marks: readonly (readonly [number, number])[];
}

/** A text of which parts are marked. */
export function MarkedText({ text, marks }: MarkedTextProps) {
  return (
    <>
      {marks.map(([from, to], at) => (
        <Fragment key={from}>
          {text.slice(marks[at - 1]?.[1] ?? 0, from)}
          <mark className={css.mark}>{text.slice(from, to)}</mark>
        </Fragment>
      ))}
      {text.slice(marks.at(-1)?.[1] ?? 0)}
    </>
  );
}
