import { hiddenWarning, type TextKind, visiblePieces } from '@callboard/contract';
import { IconEyeOff } from '@tabler/icons-react';
import { Fragment, type MouseEvent, useMemo } from 'react';
import { exactTime, shortDuration } from '../lib/format.ts';
import { useNow } from '../lib/hooks.ts';
import noteStyles from './notes.module.css';
import css from './text.module.css';

/** A text with each hidden character shown as its code. */
export function Seen({ text, kind }: { text: string; kind: TextKind }) {
  const pieces = useMemo(() => visiblePieces(text, kind), [text, kind]);
  return pieces.map((piece, index) => {
    if (piece.kind === 'plain') return piece.text;
    const Tag = piece.kind === 'hidden' ? 'mark' : 'bdi';
    return (
      // biome-ignore lint/suspicious/noArrayIndexKey: pieces have no identity but their place
      <Tag key={index} className={piece.kind === 'hidden' ? css.code : undefined}>
        {piece.text}
      </Tag>
    );
  });
}

interface HiddenNoteProps {
  /** All texts that are shown beside it. */
  texts: Iterable<readonly [text: string, kind: TextKind]>;
}

/** Lists the hidden characters in what a person is about to decide on; nothing if there are none. */
export function HiddenNote({ texts }: HiddenNoteProps) {
  const warning = hiddenWarning(texts);
  if (warning === null) return null;
  return (
    <div className={noteStyles.note} data-kind="failure" role="note" aria-label="Hidden characters">
      <IconEyeOff size={16} aria-hidden />
      <span>{warning}</span>
    </div>
  );
}

interface PathInProps {
  /** One line of text. */
  text: string;
  /** A path that occurs in the text. */
  path?: string | undefined;
  /** Keeps the text on one line. Otherwise it wraps. */
  isLine?: boolean;
}

/** A text with a path that is shortened in its middle if there is no room. The file name at its end stays visible. */
export function TextWithPath({ text, path = '', isLine = false }: PathInProps) {
  const at = text.indexOf(path);
  const name = path.lastIndexOf('/');
  if (name <= 0 || at === -1) return text;
  const parts = (
    <>
      {text.slice(0, at)}
      <span className={css.cut} data-path>
        <span className={css.start}>{path.slice(0, name)}</span>
        <span className={css.end}>{path.slice(name)}</span>
      </span>
      {text.slice(at + path.length)}
    </>
  );
  return isLine ? <span className={css.line}>{parts}</span> : parts;
}

const JUST_NOW_MS = 5_000;

/** How long ago something was; the exact time on hover. */
export function TimeSince({ at, ago = false }: { at: string; ago?: boolean }) {
  const ms = useNow() - Date.parse(at);
  const span = shortDuration(ms);
  const text = ms < JUST_NOW_MS ? 'just now' : `${span} ago`;
  return (
    <time dateTime={at} {...exactOnHover(at)}>
      {ago ? text : span}
    </time>
  );
}

/** Attributes of an element that shows the exact time on hover. It is written out only then: hundreds of rows have a time. */
export const exactOnHover = (at: string) => ({
  onMouseOver: ({ currentTarget }: MouseEvent<HTMLElement>) => {
    currentTarget.title = exactTime(at);
  },
});

/** One line that is cut in its middle where there is no room: of a path, the file's name stays. The whole is shown on hover. */
export function MiddleCut({ text }: { text: string }) {
  const at = middleOf(text);
  if (at === 0) return <span title={text}>{text}</span>;
  return (
    <span className={css.cut} title={text}>
      <span className={css.start}>{text.slice(0, at)}</span>
      <span className={css.end}>{text.slice(at)}</span>
    </span>
  );
}

/** So many letters at the end stay, of a text that is no path. */
const TAIL = 12;

/** Where a text that has no room is cut: before a path's last name, else before its last letters; 0 if it is too short to be cut. */
function middleOf(text: string): number {
  const slash = text.lastIndexOf('/', text.length - 2);
  if (slash > 0) return slash;
  return text.length <= 2 * TAIL ? 0 : text.length - TAIL;
}

interface MarkedTextProps {
  text: string;
  /** Pairs of a start and an end, in order. */
  marks: readonly (readonly [number, number])[];
  /** Leaves out what only Markdown means something to: a cut piece of it is not rendered. */
  isMarkdown?: boolean;
}

const MARKDOWN = /\*\*|`+|(?<=^|\s)#{1,6}\s/g;

/** A text of which parts are marked. */
export function MarkedText({ text, marks, isMarkdown = false }: MarkedTextProps) {
  const between = (from: number, to?: number) => {
    const part = text.slice(from, to);
    return isMarkdown ? part.replace(MARKDOWN, '') : part;
  };
  return (
    <>
      {marks.map(([from, to], at) => (
        <Fragment key={from}>
          {between(marks[at - 1]?.[1] ?? 0, from)}
          <mark className={css.mark}>{text.slice(from, to)}</mark>
        </Fragment>
      ))}
      {between(marks.at(-1)?.[1] ?? 0)}
    </>
  );
}
