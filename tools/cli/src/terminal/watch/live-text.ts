import { displayWidth, visibleLines } from '../text.ts';

const INDENT = '  ';

/** Streamed text on a terminal, broken at words. */
export interface Flow {
  /** Writes more of the text; the last word only when it is known to be whole. */
  put(text: string): void;
  /** Writes what is left and ends the line. */
  end(): void;
}

/** Begins an indented text at the start of a line. */
export function createFlow(write: (text: string) => void, columns: () => number): Flow {
  let column = 0;
  let held = '';
  const newLine = () => {
    write('\n');
    column = 0;
  };
  const word = (text: string) => {
    if (text === '') return;
    const width = displayWidth(text);
    if (column > INDENT.length && column + width > columns()) newLine();
    if (column === 0) {
      write(INDENT);
      column = INDENT.length;
    }
    write(text);
    column += width;
  };
  const space = () => {
    if (column === 0) word('');
    if (column >= columns() - 1) return;
    write(' ');
    column += 1;
  };
  const whole = (text: string) => {
    visibleLines(text, 'prose').forEach((line, index) => {
      if (index > 0) newLine();
      for (const part of line.split(/( )/)) {
        if (part === ' ') space();
        else word(part);
      }
    });
  };
  return {
    put: (text) => {
      held += text;
      const end = Math.max(held.lastIndexOf(' '), held.lastIndexOf('\n')) + 1;
      whole(held.slice(0, end));
      held = held.slice(end);
    },
    end: () => {
      whole(held);
      held = '';
      if (column > 0) newLine();
    },
  };
}
