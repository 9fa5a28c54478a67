import type { CommandArgument, Word, WordPart } from 'unbash';

/** An argument of a command, as far as it is known before the command runs. */
export interface Arg {
  /** The text after quotes are removed. What is not known is a NUL; `$HOME` is `~`. */
  text: string;
  /** Whether nothing in it is expanded: the text is exactly what the command gets. */
  isLiteral: boolean;
  /** Whether a pattern stands at its beginning, so that a file's name may become an option. */
  mayBecomeOption: boolean;
  /** Whether it stays one argument, whatever it expands to. */
  isOneWord: boolean;
  /** As it is written. */
  source: string;
}

const UNKNOWN = '\0';

/** Reads an argument, or a redirection's target. */
export function argOf(word: CommandArgument): Arg {
  if (word.type === 'Assignment')
    return {
      text: word.text,
      isLiteral: isPlain(word.text),
      mayBecomeOption: false,
      isOneWord: true,
      source: word.text,
    };
  const { text, value, parts } = word;
  if (parts === undefined)
    return { text: value, isLiteral: true, mayBecomeOption: false, isOneWord: true, source: text };
  const pieces = parts.map(pieceOf);
  return {
    text: pieces.map((piece) => piece.text).join(''),
    isLiteral: pieces.every((piece) => piece.isLiteral),
    mayBecomeOption:
      parts[0]?.type === 'Glob' || parts[0]?.type === 'ExtendedGlob' || parts[0]?.type === 'BraceExpansion',
    isOneWord: parts.every(({ type }) => type === 'DoubleQuoted' || type === 'SingleQuoted' || type === 'Literal'),
    source: text,
  };
}

const isPlain = (text: string) => !/[$`*?[{(]/.test(text);

interface Piece {
  text: string;
  isLiteral: boolean;
}

const unknown: Piece = { text: UNKNOWN, isLiteral: false };

function pieceOf(part: WordPart): Piece {
  switch (part.type) {
    case 'Literal':
    case 'SingleQuoted':
    case 'AnsiCQuoted':
      return { text: part.value, isLiteral: true };
    case 'DoubleQuoted':
    case 'LocaleString': {
      const inner = part.parts.map(pieceOf);
      return {
        text: inner.map((piece) => piece.text).join(''),
        isLiteral: part.type === 'DoubleQuoted' && inner.every((piece) => piece.isLiteral),
      };
    }
    case 'Glob':
      // A pattern finds files where it stands, and nothing else.
      return { text: part.value, isLiteral: true };
    case 'SimpleExpansion':
      return part.text === '$HOME' ? { text: '~', isLiteral: true } : namedOr(part.text);
    case 'ParameterExpansion':
      return /^\$\{HOME\}$/.test(part.text) ? { text: '~', isLiteral: true } : namedOr(part.text);
    case 'ExtendedGlob':
    case 'BraceExpansion':
    case 'CommandExpansion':
    case 'ArithmeticExpansion':
    case 'ProcessSubstitution':
      return unknown;
    default:
      return part satisfies never;
  }
}

const namedOr = (text: string): Piece => (/^\$\{?PWD\}?$/.test(text) ? { text: '.', isLiteral: true } : unknown);

/** A word's text if it is known entirely; else null. */
export function literalOf(word: Word | undefined): string | null {
  if (word === undefined) return null;
  const arg = argOf(word);
  return arg.isLiteral && !arg.mayBecomeOption ? arg.text : null;
}
