import {
  type MessageId,
  NoticeCode,
  type ReviewComment,
  type StageId,
  type TranscriptEntry,
  type TrustItem,
} from '@callboard/contract';
import { Button, Group, Menu, Stack } from '@mantine/core';
import { useLongPress, useMediaQuery } from '@mantine/hooks';
import { type Icon, IconArrowBackUp, IconCopy, IconGitFork } from '@tabler/icons-react';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import clsx from 'clsx';
import { memo, type ReactNode, useState } from 'react';
import { Link } from 'react-router';
import { momentDialog, type TrustLocation, trustDialog } from '../../data/dialogs.ts';
import { boardQuery, commentsQuery, usePersonText } from '../../data/queries.ts';
import { trustQuery } from '../../data/trust-query.ts';
import { useCommand } from '../../data/use-command.tsx';
import { client } from '../../lib/api-client.ts';
import { linesText } from '../../lib/comment-text.ts';
import { clockTime, cost, exactDuration } from '../../lib/format.ts';
import { ALARM_TEXTS } from '../../lib/stage-status.ts';
import { useCanCommand } from '../../stream/stream-context.tsx';
import { CodeBlock, CopyButton, languageOf } from '../../ui/code.tsx';
import { Markdown } from '../../ui/markdown.tsx';
import { FailureNote, Note } from '../../ui/notes.tsx';
import { plainOutput } from '../../ui/output-screen.tsx';
import { exactOnHover } from '../../ui/text.tsx';
import {
  DecisionLine,
  Fold,
  LongText,
  RewoundLine,
  rewoundBy,
  SentFiles,
  UndoRewind,
  useTranscriptDeps,
} from './item-parts.tsx';
import { LookupsCard, StepsCard, ToolCard } from './tool-card.tsx';
import css from './transcript.module.css';
import { blockKey, type TranscriptItem } from './transcript-items.ts';

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
  actions?: readonly MessageAction[];
  children: ReactNode;
}

const NO_ACTIONS: readonly MessageAction[] = [];

/** Something that was said: by whom and when on the left. Buttons under a pointer and a long press under a thumb copy it, and more. */
function Said({ who, at, text, actions = NO_ACTIONS, children }: SaidProps) {
  const isTouch = useMediaQuery('(pointer: coarse)', false, { getInitialValueInEffect: false });
  const [isMenuOpen, setMenuOpen] = useState(false);
  const press = useLongPress(() => setMenuOpen(true), {
    events: ['touch'],
    cancelOnMove: true,
    // The click that follows would close the menu.
    onFinish: (event) => event.preventDefault(),
  });
  return (
    <div className={css.said} {...(isTouch && at !== null && press)}>
      <span className={css.who}>
        <span className="truncate" title={who}>
          {who}
        </span>
        {at !== null && (
          <time className="faint" dateTime={at} {...exactOnHover(at)}>
            {clockTime(at)}
          </time>
        )}
      </span>
      {children}
      {at !== null && !isTouch && (
        <div className={css.saidActions}>
          {actions.map(({ label, key, Icon, act }) => (
            <button
              key={key}
              type="button"
              aria-label={label}
              title={`${label} (${key.toUpperCase()})`}
              data-row-key={key}
              onClick={act}
            >
              <Icon size={16} />
            </button>
          ))}
          <CopyButton label="Copy message" read={() => text} />
        </div>
      )}
      {at !== null && isTouch && (
        <Menu opened={isMenuOpen} onChange={setMenuOpen} position="bottom-end">
          <Menu.Target>
            <button type="button" className="visually-hidden" aria-label="Message actions" />
          </Menu.Target>
          <Menu.Dropdown>
            {actions.map(({ label, key, Icon, act }) => (
              <Menu.Item key={key} mih={44} leftSection={<Icon size={16} />} onClick={act}>
                {label}
              </Menu.Item>
            ))}
            <Menu.Item
              mih={44}
              leftSection={<IconCopy size={16} />}
              onClick={() => void navigator.clipboard.writeText(text).catch(() => undefined)}
            >
              Copy message
            </Menu.Item>
          </Menu.Dropdown>
        </Menu>
      )}
    </div>
  );
}

function UserText({ entry, isStep }: { entry: Entry<'user'>; isStep: boolean }) {
  const { messageId } = entry;
  const personText = usePersonText();
  const actions = useMessageActions(entry, isStep ? null : messageId);
  const comments = useSentComments(entry);
  return (
    <Said
      who={entry.by !== null ? personText(entry.by) : isStep ? 'Task' : 'Callboard'}
      at={entry.at}
      text={entry.text}
      actions={actions}
    >
      <div className={clsx(css.user, 'pre-wrap')}>
        {comments.length > 0 ? (
          comments.map((comment) => <SentComment key={comment.id} comment={comment} />)
        ) : (
          <LongText id={`user:${entry.stageId}:${entry.index}`} text={entry.text}>
            {(shown) => <div>{shown}</div>}
          </LongText>
        )}
        {entry.attachments.length > 0 && <SentFiles entry={entry} />}
      </div>
    </Said>
  );
}

/** What every message with comments begins with. */
const MAY_BE_REVIEW = /^Please address (?:this comment|these \d+ comments) on your changes\./;

/** Returns the comments that were sent as this message, in its order; none if it is another one. */
function useSentComments({ stageId, messageId, text }: Entry<'user'>): ReviewComment[] {
  const { data = [] } = useQuery({ ...commentsQuery(stageId), enabled: MAY_BE_REVIEW.test(text) });
  return data
    .filter((comment) => messageId !== null && comment.messageId === messageId)
    .toSorted((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : a.line - b.line));
}

/** A comment as it was sent, with the way to its lines. */
function SentComment({ comment }: { comment: ReviewComment }) {
  const { stageId, id, path, quote, text } = comment;
  return (
    <Stack gap={4} mt="sm">
      <Link to={`/stages/${stageId}?tab=changes&comment=${id}`}>
        {path}, {linesText(comment)}
      </Link>
      <CodeBlock text={quote} language={languageOf(path)} />
      <div>{text.trim()}</div>
    </Stack>
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
      <div className={css.turnEnd} {...exactOnHover(entry.at)}>
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
      <div
        className={css.turnEnd}
        data-tone={entry.outcome === 'failed' ? 'fail' : undefined}
        {...exactOnHover(entry.at)}
      >
        {[ENDED[entry.outcome], ...facts].filter((fact) => fact !== '').join(' · ')}
      </div>
    </>
  );
}

/** Null where the text of the notice is enough. */
const TITLES: Readonly<Record<NoticeCode, string | null>> = {
  ...ALARM_TEXTS,
  adopted: 'Continued from a terminal',
  'alarm-acknowledged': 'Alarm acknowledged',
  'api-retry': 'Trying again',
  'begun-again': null,
  'beyond-budget': null,
  'budget-near': null,
  'budget-spent': null,
  'call-deferred': null,
  woken: null,
  check: null,
  review: null,
  'cli-gaps': null,
  compacted: 'Conversation compacted',
  'conversation-cleared': 'Conversation cleared',
  'conversation-damaged': null,
  'conversation-lost': 'Conversation lost',
  'denial-acknowledged': null,
  'denial-not-retried': null,
  'limit-reset': null,
  released: null,
  forked: null,
  'going-back-failed': null,
  'going-back-undone': null,
  'gone-back': null,
  'in-terminal': 'Continued in a terminal',
  informational: null,
  'files-not-kept': 'No restore point',
  'input-changed': null,
  'launch-failed': 'Claude could not be started',
  leftovers: 'Still running',
  'leftovers-ended': 'Processes ended',
  'mcp-failed': null,
  'message-unknown': null,
  merged: null,
  'merge-undone': null,
  'model-fallback': 'Another model',
  'new-rules': 'New rules',
  notification: null,
  'old-worktree': 'Its old worktree',
  'output-cut-off': 'A line was cut off',
  'output-lost': 'A gap',
  'placeholders-committed': 'Committed by mistake',
  'permission-denied': 'Not allowed',
  phase: null,
  'pull-request': null,
  'machine-back': 'Its machine came back',
  'machine-lost': 'Its machine was lost',
  'process-ended': 'The process ended',
  reopened: null,
  'rules-not-told': null,
  'sandbox-left': null,
  'sandbox-loosened': null,
  'session-message': 'Message from another session',
  'settings-changed': 'Settings changed',
  'settings-left-out': 'Without the repository’s settings',
  'taken-back': null,
  'task-marked': null,
  'task-stopped': null,
  'tasks-ended': null,
  'told-again': null,
  'too-large': 'Too large to ask about',
  'turn-forgotten': null,
  'unknown-permission-request': null,
  'unknown-request': 'Unknown request',
  'wake-ups-lost': null,
  'woke-up': null,
  worktree: null,
};

/** The title of a notice; null if its text is enough, or if the code is that of another Callboard. */
function noticeTitle(code: string): string | null {
  const known = NoticeCode.safeParse(code);
  return known.success ? TITLES[known.data] : null;
}

interface MessageAction {
  label: string;
  /** The key of it while the message is in hand. */
  key: string;
  Icon: Icon;
  act: () => void;
}

const ACTIONS = [
  { kind: 'back', label: 'Back to here', key: 'r', Icon: IconArrowBackUp },
  { kind: 'fork', label: 'Fork from here', key: 'f', Icon: IconGitFork },
] as const;

/** Goes back to before a message, or forks the stage there. @param messageId null: neither can be done there */
function useMessageActions({ stageId, text, index }: Entry<'user'>, messageId: MessageId | null): MessageAction[] {
  const { goneBack } = useTranscriptDeps();
  if (messageId === null) return [];
  // From what was taken back, a fork is the way to how it was then.
  const isRewound = rewoundBy(goneBack, index) !== null;
  return ACTIONS.filter(({ kind }) => kind === 'fork' || !isRewound).map(({ kind, ...action }) => ({
    ...action,
    act: () => momentDialog.open({ kind, stageId, message: { id: messageId, text } }),
  }));
}

/** The actions for a notice about settings. */
function SettingsActions({ entry }: { entry: { stageId: StageId; code: string; text: string } }) {
  const { stageId, code, text } = entry;
  const { data: projectId } = useQuery({
    ...boardQuery,
    select: (view) => view.stages.find(({ id }) => id === stageId)?.projectId,
  });
  if (projectId === undefined) return null;
  return (
    <Group gap={8} mt={8}>
      {code !== 'settings-left-out' && <ThatWasMe place={{ projectId, stageId }} text={text} />}
      <Button variant="default" size="compact-sm" onClick={() => trustDialog.open({ projectId, stageId })}>
        Review the settings
      </Button>
    </Group>
  );
}

/** Agrees to the rules the notice names, as long as they are in the person's own files. */
function ThatWasMe({ place, text }: { place: TrustLocation; text: string }) {
  const cache = useQueryClient();
  const canCommand = useCanCommand();
  const { data } = useQuery(trustQuery(place));
  const rules = (data?.trust.items ?? []).filter((item) => isOwn(item) && text.includes(item.value));
  const agree = useCommand({
    run: () => client.command('agree_rules', { projectId: place.projectId, rules: rules.map(({ value }) => value) }),
    failed: 'The rules were not confirmed',
    done: () => cache.invalidateQueries({ queryKey: trustQuery(place).queryKey }),
  });
  if (rules.length === 0) return null;
  return (
    <Button size="compact-sm" disabled={!canCommand} loading={agree.isPending} onClick={() => agree.mutate()}>
      That was me
    </Button>
  );
}

const isOwn = ({ kind, file, isNew }: TrustItem) =>
  isNew && (kind === 'rule' || kind === 'directory') && (file.startsWith('~/') || file.endsWith('(main checkout)'));

interface ThoughtFoldProps {
  id: string;
  isLive?: boolean;
  children: ReactNode;
}

/** What Claude thought, folded to one line. */
export const ThoughtFold = ({ id, isLive = false, children }: ThoughtFoldProps) => (
  <div className={css.indent}>
    <Fold id={id} summary={isLive ? 'Thinking…' : 'Thought'}>
      {children}
    </Fold>
  </div>
);
