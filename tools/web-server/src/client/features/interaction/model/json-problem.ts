/** Where and why a text is not a JSON object. */
export interface JsonProblem {
  line: number;
  message: string;
}

/** Returns the first problem; null if the text is a JSON object. */
export function jsonProblem(text: string): JsonProblem | null {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? null : { line: 1, message: 'The input has to be an object in braces.' };
  } catch {
    // Engines word the error differently, and not all of them give the position.
    const at = endOfReadable(text);
    const line = text.slice(0, at).split('\n').length;
    const found =
      text.slice(at).trim() === '' ? 'the text ends too early' : `this is not readable: ${excerpt(text, at)}`;
    return { line, message: `Line ${line}: ${found}` };
  }
}

const excerpt = (text: string, at: number): string => (text.slice(at).split('\n')[0] ?? '').slice(0, 30);

const LITERAL =
  /(?:"(?:\\(?:["\\/bfnrt]|u[\da-fA-F]{4})|[^"\\\p{Cc}])*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)/uy;
const STRING = /"(?:\\(?:["\\/bfnrt]|u[\da-fA-F]{4})|[^"\\\p{Cc}])*"/uy;

/** Returns the index up to which the text is a valid start of JSON. */
function endOfReadable(text: string): number {
  let at = 0;
  const skipSpace = () => {
    while (/[ \t\r\n]/.test(text.charAt(at)) && at < text.length) at += 1;
  };
  const take = (pattern: RegExp): boolean => {
    pattern.lastIndex = at;
    const match = pattern.exec(text);
    if (match === null) return false;
    at += match[0].length;
    return true;
  };
  const takeChar = (char: string): boolean => {
    skipSpace();
    if (text.charAt(at) !== char) return false;
    at += 1;
    return true;
  };
  const list = (end: string, item: () => boolean): boolean => {
    if (takeChar(end)) return true;
    do {
      skipSpace();
      if (!item()) return false;
    } while (takeChar(','));
    return takeChar(end);
  };
  function value(): boolean {
    skipSpace();
    if (takeChar('{')) return list('}', () => take(STRING) && takeChar(':') && value());
    if (takeChar('[')) return list(']', value);
    return take(LITERAL);
  }
  if (value()) skipSpace();
  return at;
}
