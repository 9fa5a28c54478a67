import {
  type HostLocation,
  hostLocation,
  hostRule,
  type PendingRequest,
  type RuleScope,
  type ToolInput,
  visibleText,
} from '@callboard/contract';
import { Button, Flex } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import clsx from 'clsx';
import { type ReactNode, type RefObject, useId, useLayoutEffect, useRef, useState } from 'react';
import { count, hostText, isPathCut } from '../../lib/format.ts';
import { field, filePath, relativePath } from '../../lib/tool-text.ts';
import codeCss from '../../ui/code.module.css';
import { Diff, lineDiff } from '../../ui/code.tsx';
import { Hint, IconLine } from '../../ui/primitives.tsx';
import { Seen } from '../../ui/text.tsx';
import { LineCounts, ToolInputView } from '../../ui/tool-input.tsx';
import css from './asked-input.module.css';
import { useFreeHeight } from './decision-slot.tsx';
import { isCommand } from './edited-input.ts';
import requestStyles from './request.module.css';
import type { FormProps } from './use-request.ts';
import { RequestMeta, VerdictActions } from './verdict-actions.tsx';

/** Marks what does not show all of what is asked. */
export const CUT = 'data-cut';

interface AskedInputProps {
  request: PendingRequest;
  folder: string | null;
  /** Whether nothing of it is hidden until it is asked for. */
  isWhole?: boolean;
}

/** The input that would run, in the most legible form for its tool. */
export function AskedInput({ request, folder, isWhole = false }: AskedInputProps) {
  const { toolName, input } = request;
  if (isCommand(request)) return <AskedCommand text={field(input, 'command')} isWhole={isWhole} />;
  return (
    <Clipped isWhole={isWhole}>
      {toolName === 'Write' || toolName === 'Edit' ? (
        <FileChange request={request} folder={folder} />
      ) : (
        <ToolInputView toolName={toolName} input={input} folder={folder} />
      )}
    </Clipped>
  );
}

/** The change to a file and its size; also the path if the form's title has no room for it. */
function FileChange({ request, folder }: AskedInputProps) {
  const { toolName, input } = request;
  const [before, after] = toolName === 'Write' ? ['', field(input, 'content')] : textsOf(input);
  const lines = lineDiff(before, after);
  const added = lines.filter(({ kind }) => kind === 'added').length;
  const removed = lines.filter(({ kind }) => kind === 'removed').length;
  const path = relativePath(filePath(input), folder);
  return (
    <>
      <Hint component="div" size="xs" ff="monospace" mb="xs" title={visibleText(filePath(input), 'command')}>
        {isPathCut(path) && (
          <div>
            <Seen text={path} kind="command" />
          </div>
        )}
        {toolName === 'Write' ? (
          `${writeText(request)}, ${count(added, 'line')}`
        ) : (
          <LineCounts added={added} removed={removed} />
        )}
      </Hint>
      <Diff before={before} after={after} />
    </>
  );
}

const textsOf = (input: ToolInput): [string, string] => [field(input, 'old_string'), field(input, 'new_string')];

/** What a `Write` does to its file, as far as that was known when it asked. */
export function writeText({ fileExists }: Pick<PendingRequest, 'fileExists'>): string {
  if (fileExists === undefined) return 'The whole file';
  return fileExists ? 'Replaces the file' : 'New file';
}

/** A command as it would run. The middle of a long command is hidden, never the end, and a note says how much. */
function AskedCommand({ text, isWhole = false }: { text: string; isWhole?: boolean }) {
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
            <span className={css.gap} {...{ [CUT]: true }}>
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

/** How a long text is shortened: `[0, headEnd)` and `[tailStart, end)` are shown. */
export interface Cut {
  headEnd: number;
  tailStart: number;
  /** The hidden amount in words: "45 more lines", "1204 more characters". */
  hidden: string;
}

/** Rows shown of the end, as the last part of a command is often its point. */
const TAIL_ROWS = 3;

/** Returns where to cut a text so that it fills about `rows` rows, including its end; null if it fits whole. */
export function cutText(text: string, columns: number, rows: number): Cut | null {
  const lines = text.split('\n');
  const total = lines.reduce((sum, line) => sum + rowsOf(line, columns), 0);
  // Hiding a single row saves nothing, as the note about it takes a row too.
  if (total <= rows + 1) return null;
  const fromEnd = text.length - lengthWithin(lines.toReversed(), columns, TAIL_ROWS);
  const tailStart = text[fromEnd] === '\n' ? fromEnd + 1 : fromEnd;
  const headEnd = lengthWithin(lines, columns, rows - TAIL_ROWS - 1);
  const between = text.slice(headEnd, tailStart).replace(/^\n/, '').replace(/\n$/, '');
  const isOneLine = !between.includes('\n');
  const hidden = isOneLine ? count(between.length, 'more character') : count(between.split('\n').length, 'more line');
  return { headEnd, tailStart, hidden };
}

const rowsOf = (line: string, columns: number) => Math.max(1, Math.ceil(line.length / columns));

/** Returns how many characters of these lines, in this order, fit into `rows` rows; always at least part of the first line. */
function lengthWithin(lines: readonly string[], columns: number, rows: number): number {
  let length = 0;
  let left = rows;
  for (const line of lines) {
    const needed = rowsOf(line, columns);
    if (needed > left) return left === rows ? left * columns : length;
    length += line.length + 1;
    left -= needed;
  }
  return length;
}

/** The kind of a piece of a shell command. Used for its colour only, never for a decision. */
export type ShellKind = 'command' | 'option' | 'text' | 'variable' | 'operator' | 'comment' | 'plain';
export interface ShellPiece {
  kind: ShellKind;
  text: string;
}

const PIECES =
  /(?<space>\s+)|(?<comment>(?<![^\s;])#[^\n]*)|(?<text>'[^']*'?|"(?:\\[\s\S]|[^"\\])*"?)|(?<variable>\$\{[^}]*\}?|\$[\w@*#?!$-]+|\$\()|(?<operator>&&|\|\||[|&;()]|\d*(?:>>|>&|<<<|<<|[<>])\d*|`)|(?<word>(?:\\[\s\S]|[^\s'"$|&;()<>`\\])+|[\s\S])/gu;

const ASSIGNMENT = /^\w+=/;
const STARTS_COMMAND = /^(?:&&|\|\||[|&;(`]|\$\()$/;
const KEEPS_EXPECTING_COMMAND: ReadonlySet<string> = new Set([
  'sudo',
  'env',
  'time',
  'then',
  'do',
  'else',
  'if',
  'while',
  '!',
  'exec',
  'xargs',
  'nohup',
]);

/** Splits a command into pieces whose texts add up to the command. */
export function shellPieces(command: string): ShellPiece[] {
  const pieces: ShellPiece[] = [];
  let expectsCommand = true;
  let isFresh = true; // at the start of a word
  for (const { groups = {}, 0: text } of command.matchAll(PIECES)) {
    if (groups.space !== undefined) {
      if (text.includes('\n')) expectsCommand = true;
      isFresh = true;
      pieces.push({ kind: 'plain', text });
      continue;
    }
    const kind = kindOf(groups, text, expectsCommand && isFresh, isFresh);
    if (groups.operator !== undefined || text === '$(') {
      expectsCommand = STARTS_COMMAND.test(text) || (expectsCommand && text === '!');
      isFresh = true;
    } else {
      if (isFresh && groups.comment === undefined) expectsCommand = expectsCommand && staysOpen(text);
      isFresh = false;
    }
    pieces.push({ kind, text });
  }
  return pieces;
}

const staysOpen = (word: string) => ASSIGNMENT.test(word) || KEEPS_EXPECTING_COMMAND.has(word);

function kindOf(
  groups: Record<string, string | undefined>,
  text: string,
  isCommand: boolean,
  isFresh: boolean,
): ShellKind {
  if (groups.comment !== undefined) return 'comment';
  if (groups.text !== undefined) return 'text';
  if (groups.variable !== undefined) return 'variable';
  if (groups.operator !== undefined) return 'operator';
  if (isCommand && !ASSIGNMENT.test(text)) return 'command';
  return isFresh && /^--?\w/.test(text) ? 'option' : 'plain';
}

/** Returns how many lines are at least partly hidden: lines of a text or diff, else rows as drawn. */
function hiddenLines(box: HTMLElement): number {
  const { bottom } = box.getBoundingClientRect();
  const lines = [...box.querySelectorAll('[data-line]')];
  if (lines.length === 0) return Math.ceil((box.scrollHeight - box.clientHeight) / LINE_PX);
  return lines.filter((line) => line.getBoundingClientRect().bottom > bottom + 1).length;
}

/** Content that may be long: its beginning, how much is hidden, and the whole on demand. */
function Clipped({ children, isWhole = false }: { children: ReactNode; isWhole?: boolean }) {
  const box = useRef<HTMLDivElement>(null);
  const free = useFreeHeight(box);
  const [hidden, setHidden] = useState(0);
  const isLong = hidden > 0;
  const [whole, setWhole] = useState(isWhole);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null || whole) return;
    const measure = () => setHidden(element.scrollHeight > element.clientHeight + 8 ? hiddenLines(element) : 0);
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    for (const child of element.children) observer.observe(child);
    return () => observer.disconnect();
  }, [whole]);
  return (
    <div>
      <div
        ref={box}
        className={clsx(css.clipped, whole && css.whole, isLong && !whole && css.cut)}
        style={free === null || whole ? undefined : { maxHeight: free }}
        {...{ [CUT]: (isLong && !whole) || undefined }}
      >
        {children}
      </div>
      {isLong && (
        <Button variant="subtle" size="compact-sm" mt={4} aria-expanded={whole} onClick={() => setWhole(!whole)}>
          {whole ? 'Show less' : `Show ${count(hidden, 'more line')}`}
        </Button>
      )}
    </div>
  );
}

/** What it means to reach a host of this kind, in a sentence. */
const PLACE_TEXTS: Record<HostLocation, string> = {
  'this-machine': 'This is your own machine: every server that listens on it can be reached, Callboard’s included.',
  metadata: 'Cloud machines hand out their credentials at this address.',
  'local-network': 'This is a host of your local network.',
};

type Duration = RuleScope | 'process';

/** The host that is asked for, what it is, and which command asks. */
export function AskedHost({ request }: { request: PendingRequest }) {
  const place = hostLocation(field(request.input, 'host'));
  return (
    <>
      <pre className={codeCss.block}>{hostText(request)}</pre>
      {place !== null && (
        <IconLine>
          <IconAlertTriangle size={16} aria-hidden />
          <p>{PLACE_TEXTS[place]}</p>
        </IconLine>
      )}
      <AskedBy commands={request.commands} />
    </>
  );
}

/** A sandboxed command wants to reach a host: which host, which command, and for how long. */
export function NetworkBody({ request, approve }: FormProps) {
  const [duration, setDuration] = useState<Duration>('process');
  const sent = approve.isPending || approve.isSuccess;
  const host = field(request.input, 'host');
  return (
    <>
      <div className={requestStyles.scroll}>
        <RequestMeta request={request} />
        <AskedHost request={request} />
        {hostRule(host) === null && (
          <Hint>Allow lasts until the process of this session ends. This host is never kept as a rule.</Hint>
        )}
        {hostRule(host) !== null && <HowLong chosen={duration} choose={setDuration} disabled={sent} />}
      </div>
      <VerdictActions
        request={request}
        approve={approve}
        reasonLabel={null}
        caption="On every port. If you deny it, the connection is blocked, and the next try asks again."
        allowWith={duration === 'process' ? {} : { remember: duration }}
      />
    </>
  );
}

/** Claude Code does not say which command asks. If only one was running, it is that one. */
function AskedBy({ commands }: Pick<PendingRequest, 'commands'>) {
  const [only, ...others] = commands;
  if (only === undefined) return <Hint>Asked by a command of this session.</Hint>;
  return (
    <Flex component="section" direction="column" gap="xs">
      <Hint component="h3" mb="xs">
        {others.length === 0 ? 'Asked by' : 'Asked by one of these'}
      </Hint>
      {commands.map(({ id, isBackground, text }) =>
        isBackground ? (
          <Hint key={id}>
            In the background: <Seen text={text} kind="prose" />
          </Hint>
        ) : (
          <AskedCommand key={id} text={text} />
        ),
      )}
    </Flex>
  );
}

const DURATIONS: { value: Duration; label: string; about: string }[] = [
  { value: 'process', label: 'This session', about: 'until its process ends' },
  { value: 'stage', label: 'This stage', about: 'kept as a rule' },
  { value: 'project', label: 'This project', about: 'kept as a rule for all its stages' },
];

interface HowLongProps {
  chosen: Duration;
  choose: (duration: Duration) => void;
  disabled: boolean;
}

function HowLong({ chosen, choose, disabled }: HowLongProps) {
  const name = useId();
  return (
    <Flex component="fieldset" direction="column" gap="xs" disabled={disabled}>
      <Hint component="legend" mb="xs">
        Allow for
      </Hint>
      {DURATIONS.map(({ value, label, about }) => (
        <label key={value} className={css.offer}>
          <input type="radio" name={name} checked={value === chosen} onChange={() => choose(value)} />
          <span>
            {label} <Hint span>{about}</Hint>
          </span>
        </label>
      ))}
    </Flex>
  );
}
