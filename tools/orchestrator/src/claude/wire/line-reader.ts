const NEWLINE = 0x0a;

/** One line of a spool. */
export interface SpoolLine {
  text: string;
  /** Offset of the first byte behind its newline. Reading may resume here once the line's events are committed. */
  end: number;
}

/**
 * Far longer than any line of the CLI (several megabytes were seen), and well below the maximum length of a string. A longer
 * line would use up the memory that all sessions share.
 */
const MAX_LINE_LENGTH = 128 * 1024 * 1024;

/**
 * Splits bytes into lines. Knows nothing about JSON. Decodes whole lines only, so it never splits a character. Skips empty
 * lines. A line longer than `longest` is replaced by a sentence with its length, which is not JSON.
 */
export function createLineReader(start: number, longest = MAX_LINE_LENGTH) {
  let offset = start;
  let parts: Buffer[] = [];
  /** The length of the current line, whether or not its bytes are kept. */
  let length = 0;

  function save(bytes: Buffer): void {
    length += bytes.length;
    if (length <= longest) parts.push(bytes);
    else parts = [];
  }

  const lineSoFar = (): string =>
    length > longest
      ? `A line of ${length} bytes was too long and was discarded.`
      : Buffer.concat(parts).toString('utf8');

  function endLine(): string {
    const text = lineSoFar();
    parts = [];
    length = 0;
    return text;
  }

  return {
    /** Adds the next bytes; returns the lines that they complete. The caller may reuse the buffer afterwards. */
    push(bytes: Buffer): SpoolLine[] {
      const lines: SpoolLine[] = [];
      let from = 0;
      for (let at = bytes.indexOf(NEWLINE); at !== -1; at = bytes.indexOf(NEWLINE, from)) {
        save(bytes.subarray(from, at));
        offset += at + 1 - from;
        const text = endLine();
        from = at + 1;
        if (text.trim() !== '') lines.push({ text, end: offset });
      }
      if (from < bytes.length) {
        save(Buffer.from(bytes.subarray(from)));
        offset += bytes.length - from;
      }
      return lines;
    },
    /** Offset behind the last added byte, whether or not it completed a line. */
    position: () => offset,
    /** The text of a line without a newline yet: the last output of a process that died. */
    rest: lineSoFar,
  };
}
