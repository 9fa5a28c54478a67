export interface DiffLine {
  kind: 'same' | 'removed' | 'added';
  text: string;
}

const CONTEXT = 3;
/** Beyond this many pairs of lines the middle is shown as one block out and one block in. */
const MAX_PAIRS = 400_000;

/** What changes from one text to another, line by line, with a few lines of context around each change. */
export function lineDiff(before: string, after: string): DiffLine[] {
  const old = splitLines(before);
  const fresh = splitLines(after);
  const shared = Math.min(old.length, fresh.length);
  let head = 0;
  while (head < shared && old[head] === fresh[head]) head += 1;
  let tail = 0;
  while (tail < shared - head && old[old.length - 1 - tail] === fresh[fresh.length - 1 - tail]) tail += 1;
  return [
    ...lines('same', old.slice(Math.max(0, head - CONTEXT), head)),
    ...diffMiddle(old.slice(head, old.length - tail), fresh.slice(head, fresh.length - tail)),
    ...lines('same', old.slice(old.length - tail, old.length - tail + CONTEXT)),
  ];
}

const splitLines = (text: string): string[] => (text === '' ? [] : text.replace(/\n$/, '').split('\n'));

const lines = (kind: DiffLine['kind'], texts: readonly string[]): DiffLine[] => texts.map((text) => ({ kind, text }));

function diffMiddle(old: readonly string[], fresh: readonly string[]): DiffLine[] {
  if (old.length * fresh.length > MAX_PAIRS) return [...lines('removed', old), ...lines('added', fresh)];
  const common = commonLengths(old, fresh);
  const at = (i: number, j: number) => common[i * (fresh.length + 1) + j] ?? 0;
  const result: DiffLine[] = [];
  let i = 0;
  let j = 0;
  while (i < old.length || j < fresh.length) {
    const [gone, come] = [old[i], fresh[j]];
    if (gone !== undefined && gone === come) {
      result.push({ kind: 'same', text: gone });
      i += 1;
      j += 1;
    } else if (gone !== undefined && (come === undefined || at(i + 1, j) >= at(i, j + 1))) {
      result.push({ kind: 'removed', text: gone });
      i += 1;
    } else {
      result.push({ kind: 'added', text: come ?? '' });
      j += 1;
    }
  }
  return result;
}

/** For each pair of positions, how long the longest common run of lines from there to the end is. */
function commonLengths(old: readonly string[], fresh: readonly string[]): Uint32Array {
  const width = fresh.length + 1;
  const common = new Uint32Array((old.length + 1) * width);
  const at = (i: number, j: number) => common[i * width + j] ?? 0;
  for (let i = old.length - 1; i >= 0; i -= 1) {
    for (let j = fresh.length - 1; j >= 0; j -= 1) {
      common[i * width + j] = old[i] === fresh[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  return common;
}
