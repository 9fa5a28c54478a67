import type { TranscriptEntry } from '@callboard/contract';
import { memo, type ReactNode } from 'react';
import { clockTime, cost, exactDuration } from '../../../lib/format.ts';
import { plainOutput } from '../../../lib/plain-output.ts';
import { CodeBlock } from '../../../ui/code.tsx';
import { CopyButton } from '../../../ui/copy-code.tsx';
import { exactOnHover } from '../../../ui/exact-on-hover.ts';
import { Markdown } from '../../../ui/markdown.tsx';
import { FailureNote, Note } from '../../../ui/note.tsx';
import { noticeTitle } from '../model/notice-words.ts';
import { blockKey, type TranscriptItem } from '../model/transcript-items.ts';
import { DecisionLine } from './decision-line.tsx';
import { Fold } from './fold.tsx';
import { LongText } from './long-text.tsx';
import { MessageActions } from './message-actions.tsx';
import { SentFiles } from './prompt-files.tsx';
import { SettingsActions } from './settings-actions.tsx';
import { RewoundLine, UndoRewind } from './taken-back.tsx';
import { ThoughtFold } from './thought-fold.tsx';
import { LookupsCard, StepsCard, ToolCard } from './tool-card.tsx';
import css from './transcript.module.css';

/** One item of a transcript. `isStep` marks a step of a subagent. */
export const ItemView = memo(function ItemView({ item, isStep = false }: { item: TranscriptItem; isStep?: boolean }) {
  switch (item.kind) {
    case 'tool':
      return <ToolCard tool={item} />;
    case 'lookups':
      return <LookupsCard tools={item.tools} />;
    case 'steps':
      return <StepsCard toolUseId={item.toolUseId} items={item.children} />;
    case 'entry':
      return <EntryView entry={item.entry} isStep={isStep} />;
    case 'taken-back':
      return <RewoundLine goneBack={item.goneBack} />;
    default:
      return item satisfies never;
  }
});

type Entry<K extends TranscriptEntry['kind']> = Extract<TranscriptEntry, { kind: K }>;

function EntryView({ entry, isStep }: { entry: Exclude<TranscriptEntry, Entry<'tool-use'>>; isStep: boolean }) {
  switch (entry.kind) {
    case 'user':
      return <UserText entry={entry} isStep={isStep} />;
    case 'text':
      return <ClaudeText text={entry.text} at={entry.at} who={isStep ? 'Agent' : 'Claude'} />;
    case 'thinking':
      return (
        <ThoughtFold id={blockKey(entry.blockId)}>
          {entry.text === '' ? 'The text was not given.' : entry.text}
        </ThoughtFold>
      );
    case 'tool-result':
      return (
        <Indented>
          <LongText id={entry.toolUseId} text={plainOutput(entry.text)}>
            {(shown) => <CodeBlock text={shown} />}
          </LongText>
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
      return <Notice entry={entry} />;
    case 'unknown':
      return (
        <Indented>
          <Fold id={`unknown:${entry.stageId}:${entry.index}`} summary="Something this version does not know">
            <CodeBlock text={JSON.stringify(entry.raw, null, 2)} language="json" />
          </Fold>
        </Indented>
      );
    default:
      return entry satisfies never;
  }
}

const Indented = ({ children }: { children: ReactNode }) => <div className={css.indent}>{children}</div>;

interface SaidProps {
  who: string;
  /** Null while it is being said. */
  at: string | null;
  /** The text that the copy button copies. */
  text: string;
  /** What else can be done with it. */
  actions?: ReactNode;
  children: ReactNode;
}

/** Something that was said: by whom and when on the left, and a button that copies it. */
function Said({ who, at, text, actions, children }: SaidProps) {
  return (
    <div className={css.said}>
      <span className={css.who}>
        <span className={css.whoName} title={who}>
          {who}
        </span>
        {at !== null && (
          <time className={css.at} dateTime={at} {...exactOnHover(at)}>
            {clockTime(at)}
          </time>
        )}
      </span>
      {children}
      {at !== null && (
        <div className={css.saidActions}>
          {actions}
          <CopyButton className={css.copy} label="Copy message" read={() => text} />
        </div>
      )}
    </div>
  );
}

function UserText({ entry, isStep }: { entry: Entry<'user'>; isStep: boolean }) {
  const { messageId } = entry;
  return (
    <Said
      who={entry.by ?? (isStep ? 'Task' : 'Callboard')}
      at={entry.at}
      text={entry.text}
      actions={!isStep && messageId !== null && <MessageActions entry={{ ...entry, messageId }} />}
    >
      <div className={css.user}>
        <LongText id={`user:${entry.stageId}:${entry.index}`} text={entry.text}>
          {(shown) => <div>{shown}</div>}
        </LongText>
        {entry.attachments.length > 0 && <SentFiles entry={entry} />}
      </div>
    </Said>
  );
}

interface ClaudeTextProps {
  text: string;
  at: string | null;
  who?: string;
  isLive?: boolean;
}

export function ClaudeText({ text, at, who = 'Claude', isLive = false }: ClaudeTextProps) {
  return (
    <Said who={who} at={at} text={text}>
      <div className={isLive ? css.live : undefined}>
        <Markdown text={text} isLive={isLive} />
      </div>
    </Said>
  );
}

/** The codes of notices about settings that can be reviewed. */
const ABOUT_SETTINGS: ReadonlySet<string> = new Set(['settings-left-out', 'new-rules', 'settings-changed']);

function Notice({ entry }: { entry: Entry<'notice'> }) {
  if (entry.code === 'phase')
    return (
      <div className={css.turnEnd} data-outcome="phase" {...exactOnHover(entry.at)}>
        {entry.text}
      </div>
    );
  const title = noticeTitle(entry.code);
  const text = (
    <>
      {title !== null && <strong>{title}. </strong>}
      {plainOutput(entry.text)}
      {ABOUT_SETTINGS.has(entry.code) && <SettingsActions entry={entry} />}
      {entry.code === 'gone-back' && <UndoRewind index={entry.index} />}
    </>
  );
  return <Indented>{entry.level === 'error' ? <FailureNote>{text}</FailureNote> : <Note>{text}</Note>}</Indented>;
}

const ENDED = { succeeded: 'Turn ended', failed: 'Turn failed', interrupted: 'Interrupted' };

function TurnEnd({ entry }: { entry: Entry<'turn-end'> }) {
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
      {entry.message !== null && entry.outcome === 'interrupted' && (
        <Indented>
          <Note>{entry.message}</Note>
        </Indented>
      )}
      <div className={css.turnEnd} data-outcome={entry.outcome} {...exactOnHover(entry.at)}>
        {[ENDED[entry.outcome], ...facts].filter((fact) => fact !== '').join(' · ')}
      </div>
    </>
  );
}
