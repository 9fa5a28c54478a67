const NEWLINE = 0x0a;

/** One line of a spool. */
export interface SpoolLine {
  text: string;
  /** Offset of the first byte behind its newline: reading may go on here once the line's meaning is committed. */
  end: number;
}

/**
 * Far beyond what the CLI prints (lines of several megabytes were seen), and well below what a string can hold: a line
 * that is longer would take the memory that all sessions share.
 */
const LONGEST_LINE = 128 * 1024 * 1024;

/**
 * Cuts bytes into lines. Knows no JSON, and never decodes half a character, since it decodes whole lines only. Empty lines
 * are passed over. Of a line longer than `longest` only its length is told, in words that are no JSON.
 */
export function createLineReader(start: number, longest = LONGEST_LINE) {
  let offset = start;
  let parts: Buffer[] = [];
  /** Of the line that is being read, whether or not its bytes are kept. */
  let length = 0;

  function keep(bytes: Buffer): void {
    length += bytes.length;
    if (length <= longest) parts.push(bytes);
    else parts = [];
  }

  const lineSoFar = (): string =>
    length > longest
      ? `A line of ${length} bytes is too long and was not kept.`
      : Buffer.concat(parts).toString('utf8');

  function endLine(): string {
    const text = lineSoFar();
    parts = [];
    length = 0;
    return text;
  }

  return {
    /** Takes the bytes that follow the last ones; returns the lines that they complete. The bytes may be reused afterwards. */
    push(bytes: Buffer): SpoolLine[] {
      const lines: SpoolLine[] = [];
      let from = 0;
      for (let at = bytes.indexOf(NEWLINE); at !== -1; at = bytes.indexOf(NEWLINE, from)) {
        keep(bytes.subarray(from, at));
        offset += at + 1 - from;
        const text = endLine();
        from = at + 1;
        if (text.trim() !== '') lines.push({ text, end: offset });
      }
      if (from < bytes.length) {
        keep(Buffer.from(bytes.subarray(from)));
        offset += bytes.length - from;
      }
      return lines;
    },
    /** Offset behind the last byte taken, whether or not it completed a line. */
    position: () => offset,
    /** The bytes of a line that has no newline yet: what a process that died left behind. */
    rest: lineSoFar,
  };
}
