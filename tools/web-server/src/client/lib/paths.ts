import { visibleText } from '@callboard/contract';

/** A path relative to a folder, if it is inside. */
export function relativePath(path: string, folder: string | null | undefined): string {
  if (folder === null || folder === undefined || folder === '') return path;
  const base = folder.endsWith('/') ? folder : `${folder}/`;
  return path.startsWith(base) ? path.slice(base.length) : path;
}

/** Shortens a path to at most `max` characters: its beginning and its file name stay. */
export function shortPath(path: string, max: number): string {
  if (path.length <= max) return path;
  const name = path.slice(path.lastIndexOf('/'));
  const room = max - name.length - 1;
  return room > 0 ? `${path.slice(0, room)}…${name}` : `…${path.slice(1 - max)}`;
}

const LETTERS: Readonly<Record<string, number>> = { a: 7, b: 8, t: 9, n: 10, v: 11, f: 12, r: 13 };
const MAX_CHARACTER_LENGTH = 4;

/**
 * Returns a file's name as people read it. A name that is not UTF-8 comes as git quotes it, which stays its identity: its bytes that
 * are no text are shown as codes.
 */
export function fileName(path: string): string {
  if (!/^".*"$/s.test(path)) return path;
  const bytes = [...path.slice(1, -1).matchAll(/\\([0-7]{3})|\\(.)|([^\\])/gsu)].flatMap(([, octal, letter, plain]) => {
    if (octal !== undefined) return Number.parseInt(octal, 8);
    if (letter !== undefined) return LETTERS[letter] ?? [...new TextEncoder().encode(letter)];
    return [...new TextEncoder().encode(plain)];
  });
  let name = '';
  for (let at = 0; at < bytes.length; ) {
    const length = characterAt(bytes, at);
    name += length === 0 ? `⟨\\x${(bytes[at] ?? 0).toString(16)}⟩` : decoded(bytes.slice(at, at + length));
    at += Math.max(1, length);
  }
  return name;
}

/** Returns how many bytes the character here has; 0 if this is no character. */
function characterAt(bytes: readonly number[], at: number): number {
  for (let length = 1; length <= MAX_CHARACTER_LENGTH; length++)
    if (decoded(bytes.slice(at, at + length)) !== '') return length;
  return 0;
}

function decoded(bytes: readonly number[]): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Uint8Array.from(bytes));
  } catch {
    return '';
  }
}

/** A file's name on the page: hidden characters are shown. */
export const pathText = (path: string): string => visibleText(fileName(path), 'command');
