import { type SettingsProblem, WorkspaceFile } from '@callboard/contract';
import { type Document, isMap, isPair, isScalar, LineCounter, parseDocument } from 'yaml';
import type { z } from 'zod';

/** The file in the root of a repository that says how its worktrees are set up. */
export const FILE_NAME = 'callboard.yaml';

/** What a file says. With problems, nothing of it is used. */
export interface ParsedFile {
  settings: WorkspaceFile;
  problems: SettingsProblem[];
}

/** A file for people is shorter. */
const MAX_LENGTH = 100_000;
/** Aliases can expand a few lines without end. */
const ALIASES = 50;
const MAX_PROBLEMS = 20;

/** Parses the text of a `callboard.yaml`. Never throws. */
export function parseFile(text: string): ParsedFile {
  const refuse = (...problems: SettingsProblem[]): ParsedFile => ({
    settings: {},
    problems: problems.slice(0, MAX_PROBLEMS),
  });
  if (text.length > MAX_LENGTH)
    return refuse({ line: 1, key: '', message: 'The file is longer than 100,000 characters.' });
  const lines = new LineCounter();
  const read = readDocument(text, lines);
  if (typeof read === 'string') return refuse({ line: 1, key: '', message: sentence(read) });
  const lineAt = (offset: number | undefined) => Math.max(1, lines.linePos(offset ?? 0).line);
  if (read.document.errors.length > 0)
    return refuse(
      ...read.document.errors.map(({ pos, message }) => ({
        line: lineAt(pos[0]),
        key: '',
        message: sentence(message.split(/ at line \d|\n/, 1)[0] ?? ''),
      })),
    );
  const parsed = WorkspaceFile.safeParse(withLongForms(read.value ?? {}));
  if (parsed.success) return { settings: parsed.data, problems: [] };
  const place = (path: readonly PropertyKey[]) => lineAt(offsetOf(read.document, path));
  // A key that is misspelled comes before the one that is missing because of it.
  const issues = parsed.error.issues.toSorted((a, b) => Number(isUnknown(b)) - Number(isUnknown(a)));
  return refuse(...issues.flatMap((issue) => problemsOf(issue, place)));
}

function readDocument(text: string, lineCounter: LineCounter): { document: Document; value: unknown } | string {
  try {
    const document = parseDocument(text, { lineCounter, prettyErrors: false, logLevel: 'silent', stringKeys: true });
    return { document, value: document.errors.length > 0 ? null : document.toJS({ maxAliasCount: ALIASES }) };
  } catch (error) {
    return error instanceof Error ? error.message : 'The file cannot be read.';
  }
}

/** Allows `setup: npm ci` for `setup: { command: npm ci }`, and `10m` for 600; likewise for dev servers and for checks. */
const withLongForms = (value: unknown): unknown =>
  changed(value, {
    setup: longForm,
    cleanup: longForm,
    devServers: (servers) => eachOf(servers, longForm),
    pipelines: (pipelines) => eachOf(pipelines, (pipeline) => changed(pipeline, { phases: withLongChecks })),
  });

const withLongChecks = (phases: unknown): unknown =>
  Array.isArray(phases)
    ? phases.map((phase: unknown) => changed(phase, { gate: (gate) => changed(gate, { check: longForm }) }))
    : phases;

/** Returns the keys with these values changed, as far as they are there. */
function changed(value: unknown, changes: Readonly<Record<string, (value: unknown) => unknown>>): unknown {
  if (!isRecord(value)) return value;
  const now = Object.entries(value).map(([key, own]) => [key, Object.hasOwn(changes, key) ? changes[key]?.(own) : own]);
  return Object.fromEntries(now);
}

const eachOf = (value: unknown, change: (value: unknown) => unknown): unknown =>
  isRecord(value) ? Object.fromEntries(Object.entries(value).map(([name, one]) => [name, change(one)])) : value;

function longForm(value: unknown): unknown {
  if (typeof value === 'string') return { command: value };
  if (!isRecord(value) || typeof value.timeLimit !== 'string') return value;
  const [, amount, unit = 's'] = /^(\d{1,6})\s*([smh])$/.exec(value.timeLimit) ?? [];
  return amount === undefined ? value : { ...value, timeLimit: Number(amount) * (SECONDS[unit] ?? 1) };
}

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600 };

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function problemsOf(issue: z.core.$ZodIssue, lineOf: (path: readonly PropertyKey[]) => number): SettingsProblem[] {
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((name) => {
      const path = [...issue.path, name];
      return { line: lineOf(path), key: keyOf(path), message: 'There is no such key.' };
    });
  return [{ line: lineOf(issue.path), key: keyOf(issue.path), message: sentence(messageOf(issue)) }];
}

function messageOf(issue: z.core.$ZodIssue): string {
  if (issue.path.at(-1) === 'timeLimit' && issue.code === 'invalid_type')
    return 'must be a number of seconds, or a duration such as "90s", "10m" or "1h"';
  switch (issue.code) {
    case 'invalid_type':
      if (!/^Invalid input/.test(issue.message)) return issue.message;
      return /received undefined$/.test(issue.message)
        ? 'is missing'
        : `must be ${KINDS[issue.expected] ?? issue.expected}`;
    case 'invalid_key':
      return issue.issues[0]?.message ?? issue.message;
    case 'invalid_value':
      return `must be one of ${issue.values.map(String).join(', ')}`;
    default:
      return issue.message;
  }
}

const KINDS: Readonly<Record<string, string>> = {
  object: 'keys with values',
  record: 'names with values',
  array: 'a list',
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
};

const isUnknown = ({ code }: z.core.$ZodIssue): boolean => code === 'unrecognized_keys';

const keyOf = (path: readonly PropertyKey[]): string => path.map(String).join('.');

/** Where a key stands, or as much of its path as there is. */
function offsetOf(document: Document, path: readonly PropertyKey[]): number | undefined {
  let node: unknown = document.contents;
  let offset: number | undefined;
  for (const key of path) {
    const pair = isMap(node)
      ? node.items.find((item) => isPair(item) && isScalar(item.key) && String(item.key.value) === String(key))
      : undefined;
    if (pair !== undefined && isScalar(pair.key)) {
      offset = pair.key.range?.[0] ?? offset;
      node = pair.value;
      continue;
    }
    const items =
      typeof node === 'object' && node !== null && 'items' in node && Array.isArray(node.items) ? node.items : [];
    const item: unknown = typeof key === 'number' ? items[key] : undefined;
    if (typeof item !== 'object' || item === null) return offset;
    if ('range' in item && Array.isArray(item.range) && typeof item.range[0] === 'number') offset = item.range[0];
    node = item;
  }
  return offset;
}

/** As a sentence: messages of the schema go behind a name elsewhere ("is empty"). */
function sentence(message: string): string {
  const text = /^(is|must|has|holds|cannot|are) /.test(message) ? `It ${message}` : message;
  const first = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(first) ? first : `${first}.`;
}
