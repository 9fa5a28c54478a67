import { diffArrays } from 'diff';

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
