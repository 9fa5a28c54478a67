const NEWLINE = 0x0a;

/** One line of a spool. */
export interface SpoolLine {
  text: string;
  /** Offset of the first byte behind its newline: reading may go on here once the line's meaning is committed. */
  end: number;
}

/**
 * Cuts bytes into lines. Knows no JSON, has no limit on the length of a line (the CLI prints some of several
 * megabytes), and never decodes half a character, since it decodes whole lines only. Empty lines are passed over.
 */
export function createLineReader(start: number) {
  let offset = start;
  let parts: Buffer[] = [];

  return {
    /** Takes the bytes that follow the last ones; returns the lines that they complete. The bytes may be reused afterwards. */
    push(bytes: Buffer): SpoolLine[] {
      const lines: SpoolLine[] = [];
      let from = 0;
      for (let at = bytes.indexOf(NEWLINE); at !== -1; at = bytes.indexOf(NEWLINE, from)) {
        parts.push(bytes.subarray(from, at));
        offset += at + 1 - from;
        const text = (parts.length === 1 ? (parts[0] ?? Buffer.alloc(0)) : Buffer.concat(parts)).toString('utf8');
        parts = [];
        from = at + 1;
        if (text.trim() !== '') lines.push({ text, end: offset });
      }
      if (from < bytes.length) {
        parts.push(Buffer.from(bytes.subarray(from)));
        offset += bytes.length - from;
      }
      return lines;
    },
    /** Offset behind the last byte taken, whether or not it completed a line. */
    position: () => offset,
    /** The bytes of a line that has no newline yet: what a process that died left behind. */
    rest: () => Buffer.concat(parts).toString('utf8'),
  };
}
