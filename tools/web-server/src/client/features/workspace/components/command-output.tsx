import type { WorktreeCommand } from '@callboard/contract';
import { useQuery } from '@tanstack/react-query';
import { useLayoutEffect, useRef } from 'react';
import { commandOutputQuery } from '../../../data/workspace-queries.ts';
import { plainOutput } from '../../../lib/plain-output.ts';
import { ErrorNote } from '../../../ui/error-note.tsx';
import { Seen } from '../../../ui/seen.tsx';
import { isolationWords } from '../model/run-words.ts';
import css from './workspace.module.css';

/** How far from its end a box counts as being at its end, in pixels. */
const NEAR_END = 24;

/** What a run printed, which follows its end while it runs. */
export function CommandOutputBox({ run }: { run: WorktreeCommand }) {
  const { data, error, refetch } = useQuery(commandOutputQuery(run));
  const text = data === undefined ? '' : plainOutput(data.text).trimEnd();
  const box = useRef<HTMLPreElement>(null);
  const isAtEnd = useRef(true);
  // biome-ignore lint/correctness/useExhaustiveDependencies: new text is what moves the end
  useLayoutEffect(() => {
    if (isAtEnd.current && box.current !== null) box.current.scrollTop = box.current.scrollHeight;
  }, [text]);
  const empty = run.state === 'running' ? 'No output yet' : 'No output';
  return (
    <div className={css.output}>
      <p className={css.command}>
        <code>
          <Seen text={run.command} kind="command" />
        </code>
        <span className={css.facts}>{isolationWords(run.isolation)}</span>
      </p>
      {data?.isCut === true && <p className={css.facts}>Only the end is shown.</p>}
      <pre
        ref={box}
        className={css.screen}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls has to be reached by keyboard
        tabIndex={0}
        onScroll={({ currentTarget: { scrollTop, clientHeight, scrollHeight } }) => {
          isAtEnd.current = scrollTop + clientHeight > scrollHeight - NEAR_END;
        }}
      >
        {text === '' ? <span className={css.facts}>{empty}</span> : <Seen text={text} kind="code" />}
      </pre>
      {error !== null && <ErrorNote error={error} retry={() => void refetch()} />}
    </div>
  );
}
