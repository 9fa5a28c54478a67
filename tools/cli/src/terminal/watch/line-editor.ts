import { cut, displayWidth, visibleLine } from '../text.ts';

export interface LineEditorOptions {
  readonly prompt: string;
  readonly columns: () => number;
  readonly write: (text: string) => void;
  /** Called once: with the text, or with null if the person went back. */
  readonly onEnd: (text: string | null) => void;
}

/** A line that a person types at the end of the screen. Enter sends it, Escape goes back. */
export interface LineEditor {
  key(key: string): void;
  /** Line breaks of what is pasted stay in the text and send nothing. */
  paste(text: string): void;
}

const ENTER = /^[\r\n]$/;
const ERASE = /^[\x7f\b]$/;
/** Ctrl-U. */
const CLEAR = '\x15';
const ESCAPE = '\x1b';

/** Draws an empty line. */
export function createLineEditor({ prompt, columns, write, onEnd }: LineEditorOptions): LineEditor {
  let text = '';
  const draw = () => {
    const room = Math.max(10, columns() - displayWidth(prompt) - 1);
    write(`\r\x1b[K${prompt}${tailOf(visibleLine(text, 'command') + (text.endsWith(' ') ? ' ' : ''), room)}`);
  };
  const end = (result: string | null) => {
    write('\r\x1b[K');
    onEnd(result);
  };
  draw();
  return {
    key: (key) => {
      if (ENTER.test(key)) return end(text);
      if (key === ESCAPE) return end(null);
      if (key === CLEAR) text = '';
      else if (ERASE.test(key)) text = [...text].slice(0, -1).join('');
      else if (!/\p{Cc}/u.test(key)) text += key;
      draw();
    },
    paste: (pasted) => {
      text += pasted.replace(/\r\n?/g, '\n');
      draw();
    },
  };
}

/** The end of a long line, where the person types. */
function tailOf(text: string, room: number): string {
  if (displayWidth(text) <= room) return text;
  const reversed = [...new Intl.Segmenter().segment(text)].map(({ segment }) => segment).reverse();
  let tail = '';
  for (const segment of reversed) {
    if (displayWidth(segment + tail) > room - 1) break;
    tail = segment + tail;
  }
  return cut(`…${tail}`, room);
}
