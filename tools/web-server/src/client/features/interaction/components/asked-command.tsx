import { Button } from '@mantine/core';
import clsx from 'clsx';
import { type RefObject, useLayoutEffect, useRef, useState } from 'react';
import codeCss from '../../../ui/code.module.css';
import { Seen } from '../../../ui/seen.tsx';
import { cutText } from '../model/cut-text.ts';
import { type ShellPiece, shellPieces } from '../model/shell-words.ts';
import css from './content.module.css';
import { useFreeHeight } from './use-free-height.ts';

/** A command as it would run. The middle of a long command is hidden, never the end, and a note says how much. */
export function AskedCommand({ text, isWhole = false }: { text: string; isWhole?: boolean }) {
  const box = useRef<HTMLPreElement>(null);
  const [whole, setWhole] = useState(isWhole);
  const { columns, rows } = useRoom(box, whole);
  const command = text.trimEnd();
  const cut = cutText(command, columns, rows);
  const pieces = shellPieces(command);
  return (
    <div className={css.uncut}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling box must be reachable by keyboard */}
      <pre ref={box} className={clsx(codeCss.block, codeCss.prompt)} tabIndex={0}>
        {cut === null || whole ? (
          <Pieces pieces={pieces} from={0} to={command.length} />
        ) : (
          <>
            <Pieces pieces={pieces} from={0} to={cut.headEnd} />
            <span className={css.gap}>
              <Button variant="subtle" size="compact-sm" aria-expanded={false} onClick={() => setWhole(true)}>
                Show {cut.hidden}
              </Button>
            </span>
            <Pieces pieces={pieces} from={cut.tailStart} to={command.length} />
          </>
        )}
      </pre>
      {cut !== null && whole && !isWhole && (
        <Button variant="subtle" size="compact-sm" mt={4} aria-expanded onClick={() => setWhole(false)}>
          Show less
        </Button>
      )}
    </div>
  );
}

/** The characters between two offsets, coloured by piece. */
function Pieces({ pieces, from, to }: { pieces: readonly ShellPiece[]; from: number; to: number }) {
  let start = 0;
  return pieces.map(({ kind, text }, index) => {
    const begin = start;
    start += text.length;
    const part = text.slice(Math.max(0, from - begin), Math.max(0, to - begin));
    return part === '' ? null : (
      // biome-ignore lint/suspicious/noArrayIndexKey: pieces are identified by their position only
      <span key={index} className={css[kind]}>
        <Seen text={part} kind="command" />
      </span>
    );
  });
}

const LINE_PX = 20;
/** The width of one character of the code font. */
const CHARACTER_PX = 7.8;
const PADDING_PX = 26;
/** What the box needs above and below its lines. */
const FRAME_PX = 20;
const LEAST_ROWS = 6;
const MAX_TRIES = 8;

/** Returns how many characters fit into a row of the box, and how many rows it may have. */
function useRoom(box: RefObject<HTMLElement | null>, whole: boolean): { columns: number; rows: number } {
  const free = useFreeHeight(box);
  const [room, setRoom] = useState({ columns: 80, rows: 12 });
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    const measure = () => {
      const columns = Math.max(20, Math.floor((element.clientWidth - PADDING_PX) / CHARACTER_PX));
      const rows = Math.max(
        LEAST_ROWS,
        Math.floor(((free ?? Math.min(window.innerHeight * 0.36, 320)) - FRAME_PX) / LINE_PX),
      );
      setRoom((old) => (old.columns === columns && old.rows === rows ? old : { columns, rows }));
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, [box, free]);
  // Lines wrap at words, so that a text may have more of them than its characters say: then fewer are shown.
  const { columns } = room;
  const of = `${columns} ${room.rows}`;
  const [fewer, setFewer] = useState({ of, rows: 0, tries: 0 });
  const { rows: less, tries } = fewer.of === of ? fewer : { rows: 0, tries: 0 };
  const rows = Math.max(LEAST_ROWS, room.rows - less);
  useLayoutEffect(() => {
    const over = free === null || whole ? 0 : (box.current?.offsetHeight ?? 0) - free;
    if (over > 2 && rows > LEAST_ROWS) setFewer({ of, rows: less + Math.ceil(over / LINE_PX), tries: tries + 1 });
    // Room that is left is used again, a few times at most, since each line may wrap.
    else if (over < -2 * LINE_PX && less > 0 && tries < MAX_TRIES)
      setFewer({ of, rows: Math.max(0, less - Math.max(1, Math.floor(-over / LINE_PX / 2))), tries: tries + 1 });
  });
  return { columns, rows };
}
