import type { TranscriptEntry } from '@callboard/contract';
import { memo } from 'react';
import { cost, exactDuration, exactTime } from '../../../lib/time.ts';
import { CodeBlock } from '../../../ui/code.tsx';
import { Markdown } from '../../../ui/markdown.tsx';
import { FailureNote, Note } from '../../../ui/note.tsx';
import type { TranscriptItem } from '../model/transcript-items.ts';
import { DecisionLine } from './decision-line.tsx';
import { LooksCard, ToolCard } from './tool-card.tsx';
import css from './transcript.module.css';

/** One thing in a transcript. */
export function ItemView({ item }: { item: TranscriptItem }) {
  switch (item.kind) {
    case 'tool':
      return <ToolCard tool={item} />;
    case 'looks':
      return <LooksCard tools={item.tools} />;
    case 'entry':
      return <EntryView entry={item.entry} />;
    default:
      return item satisfies never;
  }
}

const EntryView = memo(function EntryView({ entry }: { entry: Exclude<TranscriptEntry, { kind: 'tool-use' }> }) {
  switch (entry.kind) {
    case 'user':
      return (
        <div className={css.userRow}>
          <div className={css.said}>
            <span className={css.who} title={exactTime(entry.at)}>
              {entry.by ?? 'You'}
            </span>
            <div className={css.user}>{entry.text}</div>
          </div>
        </div>
      );
    case 'text':
      return <ClaudeText text={entry.text} at={entry.at} />;
    case 'thinking':
      return <Thinking text={entry.text} />;
    case 'tool-result':
      return (
        <Indented>
          <CodeBlock text={entry.text} />
        </Indented>
      );
    case 'decision':
      return (
        <Indented>
          <DecisionLine decision={entry.decision} />
        </Indented>
      );
    case 'turn-end':
      return <TurnEnd entry={entry} />;
    case 'notice':
      return (
        <Indented>
          {entry.level === 'error' ? <FailureNote>{entry.text}</FailureNote> : <Note>{entry.text}</Note>}
        </Indented>
      );
    case 'unknown':
      return (
        <Indented>
          <details className={css.fold}>
            <summary>Something this version does not know</summary>
            <CodeBlock text={JSON.stringify(entry.raw, null, 2)} />
          </details>
        </Indented>
      );
    default:
      return entry satisfies never;
  }
});

const Indented = ({ children }: { children: React.ReactNode }) => <div className={css.indent}>{children}</div>;

export function ClaudeText({ text, at, isLive = false }: { text: string; at?: string; isLive?: boolean }) {
  return (
    <div className={css.said}>
      <span className={css.who} title={at === undefined ? undefined : exactTime(at)}>
        Claude
      </span>
      <div className={isLive ? css.live : undefined}>
        <Markdown text={text} />
      </div>
    </div>
  );
}

export function Thinking({ text, isLive = false }: { text: string; isLive?: boolean }) {
  return (
    <Indented>
      <details className={css.fold}>
        <summary>{isLive ? 'Thinking …' : 'Thought'}</summary>
        <div className={css.foldBody}>{text === '' ? 'The text was not given.' : text}</div>
      </details>
    </Indented>
  );
}

const ENDED = { succeeded: 'Turn ended', failed: 'Turn failed', interrupted: 'Interrupted' };

function TurnEnd({ entry }: { entry: Extract<TranscriptEntry, { kind: 'turn-end' }> }) {
  const facts = [
    entry.durationMs === null ? '' : exactDuration(entry.durationMs),
    entry.costUsd === null ? '' : cost(entry.costUsd),
  ];
  return (
    <>
      {entry.message !== null && entry.outcome === 'failed' && (
        <Indented>
          <FailureNote>{entry.message}</FailureNote>
        </Indented>
      )}
      <div className={css.turnEnd} data-outcome={entry.outcome} title={exactTime(entry.at)}>
        {[ENDED[entry.outcome], ...facts].filter((fact) => fact !== '').join(' · ')}
      </div>
    </>
  );
}
