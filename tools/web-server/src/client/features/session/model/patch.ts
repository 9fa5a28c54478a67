/** A line of a unified diff, with its line numbers before and after. */
export interface PatchLine {
  kind: 'same' | 'removed' | 'added' | 'gap' | 'remark';
  text: string;
  before: number | null;
  after: number | null;
}

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)$/;

/** The lines of a file's unified diff, from its first hunk on. */
export function patchLines(patch: string): PatchLine[] {
  const lines: PatchLine[] = [];
  let left = { before: 0, after: 0 };
  let next = { before: 0, after: 0 };
  for (const line of patch.replace(/\n$/, '').split('\n')) {
    const hunk = HUNK.exec(line);
    if (hunk !== null && left.before <= 0 && left.after <= 0) {
      next = { before: Number(hunk[1]), after: Number(hunk[3]) };
      left = { before: Number(hunk[2] ?? 1), after: Number(hunk[4] ?? 1) };
      // A change at the start of the file leaves nothing out before it.
      if (lines.length > 0 || next.before > 1)
        lines.push({ kind: 'gap', text: hunk[5] ?? '', before: null, after: null });
    } else if (line.startsWith('\\') && lines.length > 0) {
      lines.push({ kind: 'remark', text: line.slice(2), before: null, after: null });
    } else if (left.before > 0 || left.after > 0) {
      const kind = line.startsWith('+') ? 'added' : line.startsWith('-') ? 'removed' : 'same';
      const before = kind === 'added' ? null : next.before;
      const after = kind === 'removed' ? null : next.after;
      if (before !== null) [next.before, left.before] = [next.before + 1, left.before - 1];
      if (after !== null) [next.after, left.after] = [next.after + 1, left.after - 1];
      lines.push({ kind, text: line.slice(1), before, after });
    }
  }
  return lines;
}
