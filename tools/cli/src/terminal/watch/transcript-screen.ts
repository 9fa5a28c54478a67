import type { TextDelta, TranscriptEntry } from '@callboard/contract';
import { claudeHeading, entryLines, type TextPosition } from './entry-lines.ts';
import { createFlow, type Flow } from './live-text.ts';

export interface TranscriptScreenOptions {
  readonly write: (text: string) => void;
  readonly columns: () => number;
  readonly place: () => TextPosition;
  readonly now: () => Date;
}

/** Draws a transcript line after line, the newest text while it streams. */
export interface TranscriptScreen {
  /** Prints whole lines, after the end of streamed text. */
  lines(lines: readonly string[]): void;
  /** Prints an entry; of text that was streamed, only what is missing. */
  entry(entry: TranscriptEntry): void;
  /** Streams text. Text with a gap before it waits for its entry. */
  delta(delta: TextDelta): void;
}

interface Live {
  readonly blockId: string;
  readonly flow: Flow;
  /** How many characters (UTF-16) are drawn. */
  shown: number;
}

/** Creates a screen that begins at the start of a line. */
export function createTranscriptScreen({ write, columns, place, now }: TranscriptScreenOptions): TranscriptScreen {
  let live: Live | null = null;
  /** Streamed texts that something else was printed after, before they were whole. */
  const broken = new Map<string, number>();
  /** Texts that are drawn whole. The live text of a running reply may name them once more. */
  const whole = new Set<string>();

  function lines(list: readonly string[]): void {
    endLive();
    for (const line of list) write(`${line}\n`);
  }

  function endLive(): void {
    if (live === null) return;
    live.flow.end();
    broken.set(live.blockId, live.shown);
    live = null;
  }

  function endOfText(entry: Extract<TranscriptEntry, { kind: 'text' }>): void {
    whole.add(entry.blockId);
    if (live?.blockId === entry.blockId) {
      live.flow.put(entry.text.slice(live.shown));
      live.flow.end();
      live = null;
      return;
    }
    const shown = broken.get(entry.blockId) ?? 0;
    broken.delete(entry.blockId);
    const rest = entry.text.slice(shown);
    if (shown === 0 || rest.trim() !== '') lines(entryLines({ ...entry, text: rest }, place()));
  }

  return {
    lines,
    entry: (entry) => (entry.kind === 'text' ? endOfText(entry) : lines(entryLines(entry, place()))),
    delta: ({ blockId, kind, text, offset, parentToolUseId }) => {
      if (kind !== 'text' || parentToolUseId !== null || whole.has(blockId)) return;
      if (live?.blockId !== blockId) {
        const shown = broken.get(blockId) ?? 0;
        if (offset > shown) return;
        endLive();
        broken.delete(blockId);
        if (shown === 0) write(`${claudeHeading(now().toISOString(), place())}\n`);
        live = { blockId, flow: createFlow(write, columns), shown };
      }
      const from = live.shown - offset;
      if (from < 0 || from >= text.length) return;
      live.flow.put(text.slice(from));
      live.shown += text.length - from;
    },
  };
}
