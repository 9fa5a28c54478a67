import { IconCheck, IconCopy } from '@tabler/icons-react';
import clsx from 'clsx';
import { diffArrays } from 'diff';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import css from './code.module.css';
import { Highlighted } from './highlighted.tsx';
import { Seen } from './text.tsx';

interface CodeBlockProps {
  text: string;
  /** Shows a shell prompt that is not part of the text. */
  isCommand?: boolean;
  /** Null if there is none. */
  language?: string | null;
}

/** A block of code, coloured if its language is known. */
export function CodeBlock({ text, isCommand = false, language = isCommand ? 'bash' : null }: CodeBlockProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls has to be reached by keyboard
    <pre className={clsx(css.block, isCommand && css.prompt)} tabIndex={0}>
      <Highlighted text={text} language={language} kind={isCommand ? 'command' : 'code'} />
    </pre>
  );
}

const SAID = { same: '', removed: 'Removed: ', added: 'Added: ' };

/** The lines an edit removes and adds. */
export function Diff({ before, after }: { before: string; after: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls has to be reached by keyboard
    <div className={clsx(css.block, css.diff)} tabIndex={0}>
      {lineDiff(before, after).map((line, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines have no identity but their place
        <div key={index} data-line className={line.kind === 'same' ? undefined : css[line.kind]}>
          <span className="visually-hidden">{SAID[line.kind]}</span>
          <Seen text={line.text} kind="code" />
        </div>
      ))}
    </div>
  );
}

/** A line of a diff. */
export interface DiffLine {
  kind: 'same' | 'removed' | 'added';
  text: string;
}

const CONTEXT = 3;
/** With more pairs of lines than this, the middle is shown as one block removed and one block added. */
const MAX_PAIRS = 400_000;

/** The changes from one text to another, line by line, with a few lines of context. */
export function lineDiff(before: string, after: string): DiffLine[] {
  const old = splitLines(before);
  const fresh = splitLines(after);
  const shared = Math.min(old.length, fresh.length);
  let head = 0;
  while (head < shared && old[head] === fresh[head]) head += 1;
  let tail = 0;
  while (tail < shared - head && old.at(-1 - tail) === fresh.at(-1 - tail)) tail += 1;
  return [
    ...lines('same', old.slice(Math.max(0, head - CONTEXT), head)),
    ...diffMiddle(old.slice(head, old.length - tail), fresh.slice(head, fresh.length - tail)),
    ...lines('same', old.slice(old.length - tail, old.length - tail + CONTEXT)),
  ];
}

const splitLines = (text: string): string[] => (text === '' ? [] : text.replace(/\n$/, '').split('\n'));

const lines = (kind: DiffLine['kind'], texts: readonly string[]): DiffLine[] => texts.map((text) => ({ kind, text }));

function diffMiddle(old: string[], fresh: string[]): DiffLine[] {
  if (old.length * fresh.length > MAX_PAIRS) return [...lines('removed', old), ...lines('added', fresh)];
  return diffArrays(old, fresh).flatMap(({ added, removed, value }) =>
    lines(added ? 'added' : removed ? 'removed' : 'same', value),
  );
}

const SAYS_SO_MS = 2_000;

/** A block of code with a button that copies what is in it. */
export function CopyCode({ children }: { children: ReactNode }) {
  const box = useRef<HTMLPreElement>(null);
  return (
    <div className={css.copyBox}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls has to be reached by keyboard */}
      <pre ref={box} tabIndex={0}>
        {children}
      </pre>
      <CopyButton className={css.copyOver} label="Copy code" read={() => box.current?.textContent ?? ''} />
    </div>
  );
}

interface CopyButtonProps {
  label: string;
  read: () => string;
  className?: string | undefined;
}

/** Copies a text that is read when it is pressed. A plain button: every row of a transcript has one. */
export function CopyButton({ label, read, className }: CopyButtonProps) {
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return;
    const timer = setTimeout(() => setCopied(false), SAYS_SO_MS);
    return () => clearTimeout(timer);
  }, [isCopied]);
  const copy = () =>
    navigator.clipboard.writeText(read()).then(
      () => setCopied(true),
      () => setCopied(false),
    );
  return (
    <button
      type="button"
      className={clsx(css.copyButton, className)}
      aria-label={isCopied ? 'Copied' : label}
      title={isCopied ? 'Copied' : label}
      onClick={() => void copy()}
    >
      {isCopied ? <IconCheck size={16} /> : <IconCopy size={16} />}
    </button>
  );
}

const BY_EXTENSION: Readonly<Record<string, string>> = {
  c: 'c',
  cc: 'cpp',
  cpp: 'cpp',
  css: 'css',
  go: 'go',
  h: 'c',
  hpp: 'cpp',
  htm: 'xml',
  html: 'xml',
  java: 'java',
  js: 'javascript',
  json: 'json',
  jsx: 'javascript',
  cjs: 'javascript',
  mjs: 'javascript',
  md: 'markdown',
  patch: 'diff',
  py: 'python',
  rb: 'ruby',
  rs: 'rust',
  scss: 'css',
  sh: 'bash',
  sql: 'sql',
  svg: 'xml',
  cts: 'typescript',
  mts: 'typescript',
  ts: 'typescript',
  tsx: 'typescript',
  xml: 'xml',
  yaml: 'yaml',
  yml: 'yaml',
};

/** The language of a file, by its name; null if it cannot be highlighted. */
export const languageOf = (path: string): string | null =>
  BY_EXTENSION[/\.(\w+)$/.exec(path)?.[1]?.toLowerCase() ?? ''] ?? null;
