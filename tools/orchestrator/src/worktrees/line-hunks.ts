/** Lines that differ: `before` lines from `from` on were replaced with `after` lines from `to` on. Zero lines: they follow that line. */
export interface LineHunk {
  from: number;
  before: number;
  to: number;
  after: number;
}

/** Lines of a file, the last one included. */
export interface LineRange {
  line: number;
  endLine: number;
}

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;

/** Reads the hunks of a diff without context. */
export function lineHunks(diff: string): LineHunk[] {
  const hunks: LineHunk[] = [];
  let left = 0; // lines of a hunk may look like its head
  for (const line of diff.split('\n')) {
    if (left > 0) {
      if (!line.startsWith('\\')) left -= 1;
      continue;
    }
    const [, from, before = '1', to, after = '1'] = HUNK.exec(line) ?? [];
    if (from === undefined || to === undefined) continue;
    hunks.push({ from: Number(from), before: Number(before), to: Number(to), after: Number(after) });
    left = Number(before) + Number(after);
  }
  return hunks;
}

/**
 * Returns where lines are after a change. `hasMoved`: they themselves have changed, or lines were added between them; they are
 * then what stands in their place now.
 */
export function followLines(
  hunks: readonly LineHunk[],
  { line, endLine }: LineRange,
): LineRange & { hasMoved: boolean } {
  let shift = 0;
  let hasMoved = false;
  let [first, last] = [line, endLine];
  for (const { from, before, to, after } of hunks) {
    const isAddition = before === 0;
    const lastChanged = from + before - 1;
    if (isAddition ? from >= endLine : from > endLine) break;
    if (isAddition ? from < line : lastChanged < line) {
      shift += after - before;
      [first, last] = [line + shift, endLine + shift];
      continue;
    }
    if (!hasMoved && !isAddition && from <= line) first = Math.max(1, to);
    hasMoved = true;
    shift += after - before;
    last = Math.max(first, !isAddition && lastChanged >= endLine ? to + after - 1 : endLine + shift);
  }
  return { line: first, endLine: last, hasMoved };
}
