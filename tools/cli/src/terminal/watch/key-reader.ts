/** Switches the marks around pasted text on, and off. */
export const MARK_PASTES = '\x1b[?2004h';
export const UNMARK_PASTES = '\x1b[?2004l';

export interface KeyHandlers {
  /** One key; `isAlone` is false if it arrived together with others. */
  key(key: string, isAlone: boolean): void;
  /** Text that was pasted, whole. */
  paste(text: string): void;
}

const BEGIN = '\x1b[200~';
const END = '\x1b[201~';
/** The end of the sequence of an arrow or a function key. */
const COMPLETE = /^\p{Cc}(?:\[[0-9;?]*[@-~]|O.|[^[O])$/u;

/** Returns a function that takes the characters from a terminal. Arrows and function keys are left out. */
export function createKeyReader(on: KeyHandlers): (character: string, isAlone: boolean) => void {
  let sequence = '';
  let pasted: string | null = null;
  return (character, isAlone) => {
    if (pasted !== null) {
      pasted += character;
      if (!pasted.endsWith(END)) return;
      const text = pasted.slice(0, -END.length);
      pasted = null;
      on.paste(text);
      return;
    }
    if (sequence === '' && (character !== '\x1b' || isAlone)) {
      on.key(character, isAlone);
      return;
    }
    sequence += character;
    if (!COMPLETE.test(sequence)) return;
    if (sequence === BEGIN) pasted = '';
    sequence = '';
  };
}
