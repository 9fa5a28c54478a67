import { useLayoutEffect, useRef } from 'react';
import css from './output-screen.module.css';
import { Hint } from './primitives.tsx';
import { Seen } from './text.tsx';

interface OutputScreenProps {
  /** What a program printed, with its escape sequences. */
  output: string;
  /** What is said above it: that its beginning is missing, for example. */
  note: string | null;
  /** In place of an empty output. */
  empty: string;
  /** Whether it has a dialog to itself. */
  isTall?: boolean;
}

/** How far from its end a box counts as being at its end, in pixels. */
const NEAR_END = 24;

/** What a program printed. Follows its end, unless a person has scrolled up. */
export function OutputScreen({ output, note, empty, isTall = false }: OutputScreenProps) {
  const text = plainOutput(output).trimEnd();
  const box = useRef<HTMLPreElement>(null);
  const isAtEnd = useRef(true);
  // biome-ignore lint/correctness/useExhaustiveDependencies: new text is what moves the end
  useLayoutEffect(() => {
    if (isAtEnd.current && box.current !== null) box.current.scrollTop = box.current.scrollHeight;
  }, [text]);
  return (
    <>
      {note !== null && <Hint span>{note}</Hint>}
      <pre
        ref={box}
        className={css.screen}
        data-tall={isTall || undefined}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls has to be reached by keyboard
        tabIndex={0}
        onScroll={({ currentTarget: { scrollTop, clientHeight, scrollHeight } }) => {
          isAtEnd.current = scrollTop + clientHeight > scrollHeight - NEAR_END;
        }}
      >
        {text === '' ? <Hint span>{empty}</Hint> : <Seen text={text} kind="code" />}
      </pre>
    </>
  );
}

const ESC = '\u001b';
const SIGNAL = '\u0007';
const END = `(?:${SIGNAL}|${ESC}\\\\)?`;
/** Control sequences (colours, cursor), operating system commands (titles, links), device strings, and the rest. */
const SEQUENCES = new RegExp(
  `${ESC}(?:\\[[0-?]*[ -/]*[@-~]|\\][^${SIGNAL}${ESC}]*${END}|[PX^_][^${ESC}]*${END}|[ -/]*[0-~])`,
  'g',
);
/** All control characters except tab and line feed. */
const CONTROLS = /(?![\t\n])\p{Cc}/gu;

/** A program's output as a terminal would leave it: no colours, no control characters, overwritten lines once. */
export function plainOutput(text: string): string {
  const withoutEscapes = text.includes(ESC) ? text.replace(SEQUENCES, '') : text;
  return withoutEscapes.replaceAll('\r\n', '\n').split('\n').map(lastWritten).join('\n').replace(CONTROLS, '');
}

/** A progress bar rewrites its line after each carriage return. */
function lastWritten(line: string): string {
  if (!line.includes('\r')) return line;
  return line.split('\r').findLast((part) => part !== '') ?? '';
}
