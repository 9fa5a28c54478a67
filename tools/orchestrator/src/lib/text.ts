import { visibleText } from '@callboard/contract';

/** Returns a text as a block of Markdown. The fence is longer than any that the text contains. */
export function fenced(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}\n${text}\n${fence}`;
}

/**
 * Returns what a program or a server said, for an error that people read: its beginning, or with a negative length its end.
 * Characters that would hide or reorder the words around them, or act on a terminal, become codes.
 */
export function untrustedText(text: string, length: number): string {
  const cut = length < 0 ? text.trim().slice(length) : text.slice(0, length);
  return visibleText(cut.toWellFormed().replaceAll('\r\n', '\n'), 'prose').trim();
}

/** Returns a record's own value for a name from outside. Every object inherits some names (`constructor`): these do not count. */
export function ownProperty<T>(record: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}

/** Returns the parsed text; undefined if it is no JSON, for instance because it was cut off. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A longer tool result keeps its beginning and its end; the CLI itself shows the model far less. */
export const MAX_RESULT_LENGTH = 200_000;
/** For one string of a text, a thought, or a tool call: longer than any reply of a model. */
export const MAX_STRING_LENGTH = 2_000_000;
/** For a line of the CLI that Callboard does not understand, as JSON. */
export const MAX_RAW_LENGTH = 200_000;

/** Cuts the middle out of a long text and says how much is missing. */
export function truncate(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  const half = maxLength / 2;
  return `${text.slice(0, half)}\n\n[${text.length - maxLength} characters omitted]\n\n${text.slice(-half)}`;
}

/** Truncates every string of a JSON object, however deep. */
export function truncateStrings(value: Record<string, unknown>, maxLength: number): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, truncateValue(each, maxLength)]));
}

function truncateValue(value: unknown, maxLength: number): unknown {
  if (typeof value === 'string') return truncate(value, maxLength);
  if (Array.isArray(value)) return value.map((each) => truncateValue(each, maxLength));
  return typeof value === 'object' && value !== null ? truncateStrings({ ...value }, maxLength) : value;
}

/** Returns a line as it came, or, if it is too long, its truncated JSON text. */
export function truncateRaw(raw: unknown): unknown {
  const json = JSON.stringify(raw) ?? '';
  return json.length <= MAX_RAW_LENGTH ? raw : truncate(json, MAX_RAW_LENGTH);
}

/** Compares two versions like `2.1.330`. Returns less than 0 if `a` is earlier, 0 if they are equal. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [numbersOf(a), numbersOf(b)];
  for (let index = 0; index < Math.max(left.length, right.length); index++) {
    const difference = (left[index] ?? 0) - (right[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

const numbersOf = (version: string) => (version.match(/\d+/g) ?? []).map(Number);
