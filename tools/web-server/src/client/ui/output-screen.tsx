import { useLayoutEffect, useRef } from 'react';
import { plainOutput } from '../lib/plain-output.ts';
import css from './output-screen.module.css';
import { Seen } from './seen.tsx';

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
      {note !== null && <p className={css.facts}>{note}</p>}
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
        {text === '' ? <span className={css.facts}>{empty}</span> : <Seen text={text} kind="code" />}
      </pre>
    </>
  );
}
